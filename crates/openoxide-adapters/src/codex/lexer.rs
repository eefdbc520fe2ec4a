//! A rule file as tokens, each with its place.

use std::ops::Range;

use super::text;
use crate::foreign::Fault;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    /// One of `( ) [ ] , =`; `;`, also for the end of a line between two statements; or what no call holds.
    Mark(char),
}

/// A token, and where it stands.
pub(super) type Placed = (Token, Range<usize>);

/// Cuts a text. Inside parentheses and brackets the ends of lines mean nothing.
///
/// # Errors
/// At a text that does not end, or an escape that means nothing.
pub(super) fn tokens(source: &str) -> Result<Vec<Placed>, Fault> {
    let mut lexer = Lexer { source, at: 0, depth: 0, tokens: Vec::new() };
    while let Some(found) = lexer.peek() {
        lexer.one(found)?;
    }
    Ok(lexer.tokens)
}

struct Lexer<'s> {
    source: &'s str,
    at: usize,
    depth: usize,
    tokens: Vec<Placed>,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.source.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn push(&mut self, token: Token, length: usize) {
        self.tokens.push((token, self.at..self.at + length));
        self.at += length;
    }

    fn one(&mut self, found: char) -> Result<(), Fault> {
        match found {
            ' ' | '\t' | '\r' => self.blank(),
            '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
            '\n' if self.depth > 0 => self.at += 1,
            '\n' | ';' => self.push(Token::Mark(';'), 1),
            '(' | '[' => {
                self.depth += 1;
                self.push(Token::Mark(found), 1);
            }
            ')' | ']' => {
                self.depth = self.depth.saturating_sub(1);
                self.push(Token::Mark(found), 1);
            }
            ',' | '=' => self.push(Token::Mark(found), 1),
            _ if text::begins(self.rest()) => {
                let (value, length) = text::read(self.rest(), self.at)?;
                self.push(Token::Text(value), length);
            }
            _ if found.is_ascii_alphabetic() || found == '_' => self.name(),
            // The parser refuses it, at the first thing that is no call.
            _ => self.push(Token::Mark(found), found.len_utf8()),
        }
        Ok(())
    }

    /// A statement begins where its line begins: blanks before it are a mark that no call has.
    fn blank(&mut self) {
        let rest = self.rest();
        let length = rest.len() - rest.trim_start_matches([' ', '\t', '\r']).len();
        let begins = matches!(self.tokens.last(), None | Some((Token::Mark(';'), _)));
        let line = self.at == 0 || self.source.as_bytes().get(self.at - 1) == Some(&b'\n');
        let after = rest.get(length..).unwrap_or_default();
        if begins && line && !after.is_empty() && !after.starts_with(['\n', '#']) {
            self.push(Token::Mark(' '), length);
        } else {
            self.at += length;
        }
    }

    fn name(&mut self) {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let rest = self.rest();
        let length = rest.find(|c| !part(c)).unwrap_or(rest.len());
        let name = rest.get(..length).unwrap_or_default().to_owned();
        self.push(Token::Name(name), length);
    }
}

/// What is understood.
pub(super) const ONLY_CALLS: &str = "only plain calls are read: `prefix_rule(…)`, `host_executable(…)`, `network_rule(…)` with texts and \
     lists of texts";
