//! Texts, as Starlark writes them: quotes of either kind, once or three times, `r` before them, and escapes.

use crate::foreign::Fault;

/// Says whether a text begins here.
pub(super) fn begins(rest: &str) -> bool {
    let rest = rest.strip_prefix('r').unwrap_or(rest);
    rest.starts_with(['"', '\''])
}

/// Reads the text that begins here; returns it and its length in the source.
///
/// # Errors
/// Where it does not end, or an escape means nothing.
pub(super) fn read(rest: &str, at: usize) -> Result<(String, usize), Fault> {
    let raw = rest.starts_with('r');
    let start = usize::from(raw);
    let quote = rest.chars().nth(start).unwrap_or('"');
    let three: String = [quote; 3].iter().collect();
    let long = rest.get(start..).is_some_and(|rest| rest.starts_with(&three));
    let end = if long { three } else { quote.to_string() };
    let mut reader = Reader { rest, at, place: start + end.len(), raw, value: String::new() };
    while !reader.left().starts_with(&end) {
        reader.one(long)?;
    }
    Ok((reader.value, reader.place + end.len()))
}

struct Reader<'s> {
    rest: &'s str,
    /// Where `rest` begins in the file.
    at: usize,
    place: usize,
    raw: bool,
    value: String,
}

impl Reader<'_> {
    fn left(&self) -> &str {
        self.rest.get(self.place..).unwrap_or_default()
    }

    fn one(&mut self, long: bool) -> Result<(), Fault> {
        match self.left().chars().next() {
            Some('\n') if !long => Err(self.unclosed()),
            None => Err(self.unclosed()),
            Some('\\') => self.escape(),
            Some(found) => {
                self.value.push(found);
                self.place += found.len_utf8();
                Ok(())
            }
        }
    }

    fn unclosed(&self) -> Fault {
        Fault::new("this text is not closed", self.at..self.at + 1)
    }

    fn escape(&mut self) -> Result<(), Fault> {
        let Some(found) = self.left().chars().nth(1) else { return Err(self.unclosed()) };
        let length = 1 + found.len_utf8();
        if self.raw {
            self.value.extend(['\\', found]);
            self.place += length;
            return Ok(());
        }
        let (value, length) = match found {
            'n' => (Some('\n'), length),
            't' => (Some('\t'), length),
            'r' => (Some('\r'), length),
            '\\' | '\'' | '"' => (Some(found), length),
            '\n' => {
                self.place += length;
                return Ok(());
            }
            'x' => (self.number(2, 2, 16).filter(char::is_ascii), 4),
            'u' => (self.number(2, 4, 16), 6),
            'U' => (self.number(2, 8, 16), 10),
            _ => (None, length),
        };
        let place = self.at + self.place;
        let wrong = || Fault::new("this escape means nothing", place..place + 2);
        self.value.push(value.ok_or_else(wrong)?);
        self.place += length;
        Ok(())
    }

    fn number(&self, skip: usize, digits: usize, radix: u32) -> Option<char> {
        let digits = self.left().get(skip..skip + digits)?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        plain.then(|| u32::from_str_radix(digits, radix).ok()).flatten().and_then(char::from_u32)
    }
}
