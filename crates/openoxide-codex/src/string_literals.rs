//! Parsing of Starlark string literals: single or triple quotes of either kind, the prefix `r`, and
//! escapes.

use openoxide_adapters::policy_translation::PolicyTextError;

/// Returns whether a string literal begins here.
pub(super) fn starts_string(rest: &str) -> bool {
    let rest = rest.strip_prefix('r').unwrap_or(rest);
    rest.starts_with(['"', '\''])
}

/// Parses the string literal that begins here. Returns its value and its length in the source.
///
/// # Errors
/// Returns an error for an unterminated literal or an unknown escape.
pub(super) fn parse_string(rest: &str, at: usize) -> Result<(String, usize), PolicyTextError> {
    let raw = rest.starts_with('r');
    let start = usize::from(raw);
    let quote = rest.chars().nth(start).unwrap_or('"');
    let three: String = [quote; 3].iter().collect();
    let long = rest.get(start..).is_some_and(|rest| rest.starts_with(&three));
    let end = if long { three } else { quote.to_string() };
    let mut reader = StringReader {
        rest,
        start_offset: at,
        position: start + end.len(),
        raw,
        value: String::new(),
    };
    while !reader.remaining_text().starts_with(&end) {
        reader.read_char(long)?;
    }
    Ok((reader.value, reader.position + end.len()))
}

struct StringReader<'s> {
    rest: &'s str,
    /// The offset of `rest` in the file.
    start_offset: usize,
    position: usize,
    raw: bool,
    value: String,
}

impl StringReader<'_> {
    fn remaining_text(&self) -> &str {
        self.rest.get(self.position..).unwrap_or_default()
    }

    fn read_char(&mut self, long: bool) -> Result<(), PolicyTextError> {
        match self.remaining_text().chars().next() {
            Some('\n') if !long => Err(self.unclosed_error()),
            None => Err(self.unclosed_error()),
            Some('\\') => self.read_escape(),
            Some(found) => {
                self.value.push(found);
                self.position += found.len_utf8();
                Ok(())
            }
        }
    }

    fn unclosed_error(&self) -> PolicyTextError {
        PolicyTextError::new("unterminated string", self.start_offset..self.start_offset + 1)
    }

    fn read_escape(&mut self) -> Result<(), PolicyTextError> {
        let Some(found) = self.remaining_text().chars().nth(1) else {
            return Err(self.unclosed_error());
        };
        let length = 1 + found.len_utf8();
        if self.raw {
            self.value.extend(['\\', found]);
            self.position += length;
            return Ok(());
        }
        let (value, length) = match found {
            'n' => (Some('\n'), length),
            't' => (Some('\t'), length),
            'r' => (Some('\r'), length),
            '\\' | '\'' | '"' => (Some(found), length),
            '\n' => {
                self.position += length;
                return Ok(());
            }
            'x' => (self.read_code_point(2, 2, 16).filter(char::is_ascii), 4),
            'u' => (self.read_code_point(2, 4, 16), 6),
            'U' => (self.read_code_point(2, 8, 16), 10),
            _ => (None, length),
        };
        let place = self.start_offset + self.position;
        let wrong = || PolicyTextError::new("this escape means nothing", place..place + 2);
        self.value.push(value.ok_or_else(wrong)?);
        self.position += length;
        Ok(())
    }

    fn read_code_point(&self, skip: usize, digits: usize, radix: u32) -> Option<char> {
        let digits = self.remaining_text().get(skip..skip + digits)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u32::from_str_radix(digits, radix).ok()).flatten().and_then(char::from_u32)
    }
}
