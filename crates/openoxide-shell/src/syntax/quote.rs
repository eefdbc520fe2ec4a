//! Quotes, and text that is expanded as if in double quotes.

use std::borrow::Cow;

use super::{
    cursor::{Parsed, Parser},
    tree::Piece,
};

/// The delimiter that ends text in double quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The other quote.
    Quote,
    /// The `}` of `${…}` inside double quotes.
    Brace,
    /// The end of a here-document.
    Limit,
}

impl<'a> Parser<'a> {
    /// Reads `'…'`.
    pub(super) fn single_quoted(&mut self) -> Parsed<Piece<'a>> {
        self.at += 1;
        let text = self.take_while(|byte| byte != b'\'');
        self.expect("'")?;
        Ok(Piece::Fixed(Cow::Borrowed(text)))
    }

    /// Reads `"…"`.
    pub(super) fn double_quoted(&mut self) -> Parsed<Piece<'a>> {
        self.at += 1;
        let pieces = self.deeper(|parser| parser.quoted_text(End::Quote))?;
        self.expect("\"")?;
        Ok(joined(pieces))
    }

    /// Reads the text of a here-document, up to the end.
    pub(super) fn heredoc_text(&mut self) -> Parsed<Vec<Piece<'a>>> {
        self.quoted_text(End::Limit)
    }

    /// Reads text as in double quotes up to `end`, which is left standing.
    pub(super) fn quoted_text(&mut self, end: End) -> Parsed<Vec<Piece<'a>>> {
        let mut pieces = Vec::new();
        loop {
            let text = self.take_while(|byte| !stops(byte, end));
            if !text.is_empty() {
                pieces.push(Piece::Fixed(Cow::Borrowed(text)));
            }
            match (self.peek(), end) {
                (None, End::Limit) | (Some(b'"'), End::Quote) | (Some(b'}'), End::Brace) => {
                    return Ok(pieces);
                }
                (None, _) => return self.fault(),
                (Some(byte), _) => pieces.extend(self.quoted_special(byte, end)?),
            }
        }
    }

    fn quoted_special(&mut self, byte: u8, end: End) -> Parsed<Option<Piece<'a>>> {
        match byte {
            b'$' => self.dollar(true).map(Some),
            b'`' => self.backquote(true).map(Some),
            b'"' => self.inner_quotes().map(Some),
            b'\'' => self.ambiguous_quote().map(Some),
            b'\\' => self.quoted_escape(end),
            // A process substitution in some versions and contexts, text in others.
            _ if self.ahead(1) == Some(b'(') => self.fault(),
            _ => {
                let start = self.at;
                self.at += 1;
                Ok(Some(Piece::Fixed(Cow::Borrowed(self.slice(start, self.at)))))
            }
        }
    }

    /// Reads `"…"` inside of double quotes and `${…}`. bash expands braces before it interprets
    /// such quotes. It removes a backslash that quotes nothing before it expands the remaining
    /// text: `"${x:-"$\(id)"}"` runs `id`.
    pub(super) fn inner_quotes(&mut self) -> Parsed<Piece<'a>> {
        let start = self.at;
        let piece = self.double_quoted()?;
        let text = self.slice(start, self.at);
        if text.matches('{').count() > text.matches("${").count() || has_idle_backslash(text) {
            self.fault()
        } else {
            Ok(piece)
        }
    }

    fn quoted_escape(&mut self, end: End) -> Parsed<Option<Piece<'a>>> {
        let start = self.at;
        let Some(next) = self.src.get(start + 1..).and_then(|rest| rest.chars().next()) else {
            // The last byte of a here-document cannot be a backslash: its newline comes after it.
            return self.fault();
        };
        self.at = start + 1 + next.len_utf8();
        let escapes = match next {
            '\n' => return Ok(None),
            '$' | '`' | '\\' => true,
            '"' => end != End::Limit,
            '}' => end == End::Brace,
            _ => false,
        };
        let from = if escapes { start + 1 } else { start };
        Ok(Some(Piece::Fixed(Cow::Borrowed(self.slice(from, self.at)))))
    }

    /// Reads `'…'` where it depends on the context whether bash treats it as quotes.
    pub(super) fn ambiguous_quote(&mut self) -> Parsed<Piece<'a>> {
        let start = self.at;
        self.at += 1;
        self.take_while(|byte| {
            !matches!(byte, b'\'' | b'$' | b'`' | b'\\' | b'"' | b'{' | b'}' | b'(' | b')' | b']')
        });
        self.expect("'")?;
        Ok(Piece::Fixed(Cow::Borrowed(self.slice(start, self.at))))
    }

    /// Reads the rest of `$'…'`, the cursor at the quote.
    pub(super) fn ansi_quoted(&mut self) -> Parsed<Piece<'a>> {
        self.bashisms = true;
        self.at += 1;
        let start = self.at;
        while self.peek().is_some_and(|byte| byte != b'\'') {
            self.at += if self.peek() == Some(b'\\') { 2 } else { 1 };
        }
        let raw = self.slice(start, self.at);
        self.expect("'")?;
        Ok(match unescaped(raw) {
            Some(text) => Piece::Fixed(Cow::Owned(text)),
            None => Piece::Translated(Vec::new()),
        })
    }
}

/// Returns whether a backslash precedes a character that it does not quote.
fn has_idle_backslash(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && !matches!(bytes.next(), Some(b'$' | b'`' | b'"' | b'\\' | b'\n')) {
            return true;
        }
    }
    false
}

/// Returns whether `byte` needs special handling in text that ends at `end`.
fn stops(byte: u8, end: End) -> bool {
    match byte {
        b'$' | b'`' | b'\\' => true,
        b'"' => end != End::Limit,
        b'}' | b'\'' | b'<' | b'>' => end == End::Brace,
        _ => false,
    }
}

/// Returns quoted pieces as one: known text, if that is all they are.
fn joined(mut pieces: Vec<Piece<'_>>) -> Piece<'_> {
    if !pieces.iter().all(|piece| matches!(piece, Piece::Fixed(_))) {
        return Piece::Quoted(pieces);
    }
    if pieces.len() == 1 {
        return pieces.pop().unwrap_or(Piece::Plain(""));
    }
    let texts = pieces.iter().map(|piece| match piece {
        Piece::Fixed(text) => text.as_ref(),
        _ => "",
    });
    Piece::Fixed(Cow::Owned(texts.collect()))
}

/// Returns the text of `$'raw'`, or `None` if it contains unusual escapes.
fn unescaped(raw: &str) -> Option<String> {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => text.push_str(&escape(&mut rest)?),
            next => text.push(next),
        }
    }
    Some(text)
}

fn escape(rest: &mut std::str::Chars<'_>) -> Option<String> {
    let letter = rest.next()?;
    let code = match letter {
        'a' => 7,
        'b' => 8,
        'e' | 'E' => 27,
        'f' => 12,
        'n' => 10,
        'r' => 13,
        't' => 9,
        'v' => 11,
        '\\' | '\'' | '"' | '?' => u32::from(letter),
        'x' => number(rest, 16, 2, "")?,
        'u' => number(rest, 16, 4, "")?,
        'U' => number(rest, 16, 8, "")?,
        '0'..='7' => number(rest, 8, 2, letter.encode_utf8(&mut [0; 4]))?,
        'c' => return None,
        other => return Some(format!("\\{other}")),
    };
    // Beyond ASCII it depends on the locale what comes out; a NUL ends the word.
    char::from_u32(code).filter(|_| (1..128).contains(&code)).map(String::from)
}

fn number(rest: &mut std::str::Chars<'_>, radix: u32, most: usize, first: &str) -> Option<u32> {
    let mut digits = first.to_owned();
    for _ in 0..most {
        match rest.as_str().chars().next() {
            Some(digit) if digit.is_digit(radix) => digits.push(digit),
            _ => break,
        }
        rest.next();
    }
    u32::from_str_radix(&digits, radix).ok()
}
