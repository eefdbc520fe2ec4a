//! Parsing of quotes, and of text that is expanded as if in double quotes.

use std::borrow::Cow;

use super::{
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::WordPiece,
};

/// The delimiter that ends text in double quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QuoteEnd {
    /// The closing double quote.
    Quote,
    /// The `}` of `${…}` inside double quotes.
    Brace,
    /// The end of a here-document.
    Heredoc,
}

impl<'a> ScriptParser<'a> {
    /// Parses `'…'`.
    pub(super) fn parse_single_quoted(&mut self) -> ParseResult<WordPiece<'a>> {
        self.offset += 1;
        let text = self.take_while(|byte| byte != b'\'');
        self.expect("'")?;
        Ok(WordPiece::Literal(Cow::Borrowed(text)))
    }

    /// Parses `"…"`.
    pub(super) fn parse_double_quoted(&mut self) -> ParseResult<WordPiece<'a>> {
        self.offset += 1;
        let pieces =
            self.with_deeper_nesting(|parser| parser.parse_quoted_text(QuoteEnd::Quote))?;
        self.expect("\"")?;
        Ok(join_pieces(pieces))
    }

    /// Parses the text of a here-document, up to its end.
    pub(super) fn parse_heredoc_text(&mut self) -> ParseResult<Vec<WordPiece<'a>>> {
        self.parse_quoted_text(QuoteEnd::Heredoc)
    }

    /// Parses text as in double quotes up to `end`, which is not consumed.
    pub(super) fn parse_quoted_text(&mut self, end: QuoteEnd) -> ParseResult<Vec<WordPiece<'a>>> {
        let mut pieces = Vec::new();
        loop {
            let text = self.take_while(|byte| !is_special_byte(byte, end));
            if !text.is_empty() {
                pieces.push(WordPiece::Literal(Cow::Borrowed(text)));
            }
            match (self.peek(), end) {
                (None, QuoteEnd::Heredoc)
                | (Some(b'"'), QuoteEnd::Quote)
                | (Some(b'}'), QuoteEnd::Brace) => {
                    return Ok(pieces);
                }
                (None, _) => return self.syntax_error(),
                (Some(byte), _) => pieces.extend(self.parse_quoted_special(byte, end)?),
            }
        }
    }

    fn parse_quoted_special(
        &mut self,
        byte: u8,
        end: QuoteEnd,
    ) -> ParseResult<Option<WordPiece<'a>>> {
        match byte {
            b'$' => self.parse_dollar(true).map(Some),
            b'`' => self.parse_backquote(true).map(Some),
            b'"' => self.parse_inner_quotes().map(Some),
            b'\'' => self.parse_ambiguous_quote().map(Some),
            b'\\' => self.parse_quoted_escape(end),
            // This is a process substitution in some versions and contexts, and text in others.
            _ if self.peek_ahead(1) == Some(b'(') => self.syntax_error(),
            _ => {
                let start = self.offset;
                self.offset += 1;
                Ok(Some(WordPiece::Literal(Cow::Borrowed(self.source_between(start, self.offset)))))
            }
        }
    }

    /// Parses `"…"` inside double quotes and `${…}`. bash expands braces before it interprets
    /// such quotes. It removes a backslash that quotes nothing before it expands the remaining
    /// text: `"${x:-"$\(id)"}"` runs `id`.
    pub(super) fn parse_inner_quotes(&mut self) -> ParseResult<WordPiece<'a>> {
        let start = self.offset;
        let piece = self.parse_double_quoted()?;
        let text = self.source_between(start, self.offset);
        if text.matches('{').count() > text.matches("${").count() || has_literal_backslash(text) {
            self.syntax_error()
        } else {
            Ok(piece)
        }
    }

    fn parse_quoted_escape(&mut self, end: QuoteEnd) -> ParseResult<Option<WordPiece<'a>>> {
        let start = self.offset;
        let Some(next) = self.source.get(start + 1..).and_then(|rest| rest.chars().next()) else {
            // The last byte of a here-document cannot be a backslash: its newline comes after it.
            return self.syntax_error();
        };
        self.offset = start + 1 + next.len_utf8();
        let escapes = match next {
            '\n' => return Ok(None),
            '$' | '`' | '\\' => true,
            '"' => end != QuoteEnd::Heredoc,
            '}' => end == QuoteEnd::Brace,
            _ => false,
        };
        let from = if escapes { start + 1 } else { start };
        Ok(Some(WordPiece::Literal(Cow::Borrowed(self.source_between(from, self.offset)))))
    }

    /// Parses `'…'` where bash treats it as quotes only in some contexts.
    pub(super) fn parse_ambiguous_quote(&mut self) -> ParseResult<WordPiece<'a>> {
        let start = self.offset;
        self.offset += 1;
        self.take_while(|byte| {
            !matches!(byte, b'\'' | b'$' | b'`' | b'\\' | b'"' | b'{' | b'}' | b'(' | b')' | b']')
        });
        self.expect("'")?;
        Ok(WordPiece::Literal(Cow::Borrowed(self.source_between(start, self.offset))))
    }

    /// Parses the rest of `$'…'`, with the cursor at the quote.
    pub(super) fn parse_ansi_quoted(&mut self) -> ParseResult<WordPiece<'a>> {
        self.uses_bashisms = true;
        self.offset += 1;
        let start = self.offset;
        while self.peek().is_some_and(|byte| byte != b'\'') {
            self.offset += if self.peek() == Some(b'\\') { 2 } else { 1 };
        }
        let raw = self.source_between(start, self.offset);
        self.expect("'")?;
        Ok(match decode_ansi_quoted(raw) {
            Some(text) => WordPiece::Literal(Cow::Owned(text)),
            None => WordPiece::Translated(Vec::new()),
        })
    }
}

/// Returns whether a backslash precedes a character that it does not quote.
fn has_literal_backslash(text: &str) -> bool {
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'\\' && !matches!(bytes.next(), Some(b'$' | b'`' | b'"' | b'\\' | b'\n')) {
            return true;
        }
    }
    false
}

/// Returns whether `byte` needs special handling in text that ends at `end`.
fn is_special_byte(byte: u8, end: QuoteEnd) -> bool {
    match byte {
        b'$' | b'`' | b'\\' => true,
        b'"' => end != QuoteEnd::Heredoc,
        b'}' | b'\'' | b'<' | b'>' => end == QuoteEnd::Brace,
        _ => false,
    }
}

/// Joins quoted pieces into one. The result is known text if all pieces are.
fn join_pieces(mut pieces: Vec<WordPiece<'_>>) -> WordPiece<'_> {
    if !pieces.iter().all(|piece| matches!(piece, WordPiece::Literal(_))) {
        return WordPiece::Quoted(pieces);
    }
    if pieces.len() == 1 {
        return pieces.pop().unwrap_or(WordPiece::Unquoted(""));
    }
    let texts = pieces.iter().map(|piece| match piece {
        WordPiece::Literal(text) => text.as_ref(),
        _ => "",
    });
    WordPiece::Literal(Cow::Owned(texts.collect()))
}

/// Returns the text of `$'raw'`, or `None` if it contains unusual escapes.
fn decode_ansi_quoted(raw: &str) -> Option<String> {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(next) = rest.next() {
        match next {
            '\\' => text.push_str(&decode_escape(&mut rest)?),
            next => text.push(next),
        }
    }
    Some(text)
}

fn decode_escape(rest: &mut std::str::Chars<'_>) -> Option<String> {
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
        'x' => decode_number(rest, 16, 2, "")?,
        'u' => decode_number(rest, 16, 4, "")?,
        'U' => decode_number(rest, 16, 8, "")?,
        '0'..='7' => decode_number(rest, 8, 2, letter.encode_utf8(&mut [0; 4]))?,
        'c' => return None,
        other => return Some(format!("\\{other}")),
    };
    // Outside ASCII, the result depends on the locale. A NUL ends the word.
    char::from_u32(code).filter(|_| (1..128).contains(&code)).map(String::from)
}

fn decode_number(
    rest: &mut std::str::Chars<'_>,
    radix: u32,
    most: usize,
    first: &str,
) -> Option<u32> {
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
