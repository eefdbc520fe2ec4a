//! The lexer for rule files.

use std::ops::Range;

use super::string_literals;
use openoxide_adapters::policy_translation::PolicyTextError;

/// The kind and the content of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StarlarkToken {
    Name(String),
    Text(String),
    /// One of `( ) [ ] , =`, a `;` (also for the end of a line between two statements), or a
    /// character that no call contains.
    Mark(char),
}

/// A token with its location.
pub(super) type SpannedToken = (StarlarkToken, Range<usize>);

/// Splits a text into tokens. Line ends inside parentheses and brackets are ignored.
///
/// # Errors
/// Returns an error for an unterminated string or an unknown escape.
pub(super) fn tokenize(source: &str) -> Result<Vec<SpannedToken>, PolicyTextError> {
    let mut lexer = StarlarkLexer { source, offset: 0, depth: 0, tokens: Vec::new() };
    while let Some(found) = lexer.peek_char() {
        lexer.read_token(found)?;
    }
    Ok(lexer.tokens)
}

struct StarlarkLexer<'s> {
    source: &'s str,
    offset: usize,
    depth: usize,
    tokens: Vec<SpannedToken>,
}

impl StarlarkLexer<'_> {
    fn rest(&self) -> &str {
        self.source.get(self.offset..).unwrap_or_default()
    }

    fn peek_char(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn push_token(&mut self, token: StarlarkToken, length: usize) {
        self.tokens.push((token, self.offset..self.offset + length));
        self.offset += length;
    }

    fn read_token(&mut self, found: char) -> Result<(), PolicyTextError> {
        match found {
            ' ' | '\t' | '\r' => self.skip_whitespace(),
            '#' => self.offset += self.rest().find('\n').unwrap_or(self.rest().len()),
            '\n' if self.depth > 0 => self.offset += 1,
            '\n' | ';' => self.push_token(StarlarkToken::Mark(';'), 1),
            '(' | '[' => {
                self.depth += 1;
                self.push_token(StarlarkToken::Mark(found), 1);
            }
            ')' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                self.push_token(StarlarkToken::Mark(found), 1);
            }
            ',' | '=' => self.push_token(StarlarkToken::Mark(found), 1),
            _ if string_literals::starts_string(self.rest()) => {
                let (value, length) = string_literals::parse_string(self.rest(), self.offset)?;
                self.push_token(StarlarkToken::Text(value), length);
            }
            _ if found.is_ascii_alphabetic() || found == '_' => self.read_name(),
            // The parser rejects this mark, because no call contains it.
            _ => self.push_token(StarlarkToken::Mark(found), found.len_utf8()),
        }
        Ok(())
    }

    /// Skips blanks. Blanks at the start of a statement's line become a mark that no call contains.
    fn skip_whitespace(&mut self) {
        let rest = self.rest();
        let length = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        let begins = matches!(self.tokens.last(), None | Some((StarlarkToken::Mark(';'), _)));
        let line = self.offset == 0 || self.source.as_bytes().get(self.offset - 1) == Some(&b'\n');
        let after = rest.get(length..).unwrap_or_default();
        if begins && line && !after.is_empty() && !after.starts_with(['\n', '#']) {
            self.push_token(StarlarkToken::Mark(' '), length);
        } else {
            self.offset += length;
        }
    }

    fn read_name(&mut self) {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = self.rest();
        let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default().to_owned();
        self.push_token(StarlarkToken::Name(name), length);
    }
}

/// The help text about the syntax that is supported.
pub(super) const PLAIN_CALLS_ONLY: &str = "only plain calls are supported: `prefix_rule(…)`, `host_executable(…)`, \
                 `network_rule(…)` with strings and lists of strings";
