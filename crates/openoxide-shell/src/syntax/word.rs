//! Unquoted words.

use std::borrow::Cow;

use super::{
    bytes::{is_meta, is_plain},
    cursor::{Parsed, Parser},
    tree::{Piece, Word},
};

/// The text that ends a run of unquoted pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// A blank or an operator.
    Meta,
    /// The `}` of `${…}`.
    Brace,
    /// As `Meta`, but parentheses group and `|` is text: the right side of `=~`.
    Regex,
    /// As `Meta`, but `@(a|b)` and its like are patterns: the right side of `==` in `[[ ]]`.
    Pattern,
    /// The `)` of a group in one of these two.
    Group,
}

impl<'a> Parser<'a> {
    /// Reads one word, which must not be empty.
    pub(super) fn word(&mut self) -> Parsed<Word<'a>> {
        self.word_until(Until::Meta)
    }

    /// Reads one word, which must not be empty, up to `until`.
    pub(super) fn word_until(&mut self, until: Until) -> Parsed<Word<'a>> {
        let start = self.at;
        let pieces = self.pieces(until)?;
        if pieces.is_empty() {
            return self.fault();
        }
        Ok(Word { pieces, span: self.span_from(start) })
    }

    /// Reads unquoted pieces up to `until`, which is left standing.
    pub(super) fn pieces(&mut self, until: Until) -> Parsed<Vec<Piece<'a>>> {
        let mut pieces = Vec::with_capacity(1);
        while let Some(byte) = self.peek() {
            if is_plain(byte) && !(byte == b'}' && until == Until::Brace) {
                pieces.push(Piece::Plain(self.plain_run(until)));
            } else if !self.special(byte, until, &mut pieces)? {
                break;
            }
        }
        Ok(pieces)
    }

    fn plain_run(&mut self, until: Until) -> &'a str {
        self.take_while(|byte| is_plain(byte) && !(byte == b'}' && until == Until::Brace))
    }

    /// Reads a piece that is not plain. Returns whether the word continues.
    fn special(&mut self, byte: u8, until: Until, pieces: &mut Vec<Piece<'a>>) -> Parsed<bool> {
        let piece = match byte {
            b'\\' if self.ahead(1) == Some(b'\n') => return self.continuation(until),
            b'\\' => self.escaped()?,
            b'\'' => self.single_quoted()?,
            b'"' => self.double_quoted()?,
            b'$' => self.dollar(false)?,
            b'`' => self.backquote(false)?,
            b'<' | b'>' if self.ahead(1) == Some(b'(') => self.process()?,
            _ => return self.operator(byte, until, pieces),
        };
        pieces.push(piece);
        Ok(true)
    }

    /// Reads an operator or blank that may be text here. Returns whether the word continues.
    fn operator(&mut self, byte: u8, until: Until, pieces: &mut Vec<Piece<'a>>) -> Parsed<bool> {
        match (until, byte) {
            (Until::Brace, b'}') | (Until::Group, b')') => return Ok(false),
            (Until::Regex | Until::Pattern | Until::Group, b'(') => {
                return self.group(until, pieces);
            }
            (Until::Regex, b'|') | (Until::Group, b'|' | b' ') | (Until::Brace, _) => {}
            (Until::Group, _) => return self.fault(),
            _ => return if is_meta(byte) { Ok(false) } else { self.fault() },
        }
        let start = self.at;
        self.at += 1;
        pieces.push(Piece::Plain(self.slice(start, self.at)));
        Ok(true)
    }

    fn group(&mut self, until: Until, pieces: &mut Vec<Piece<'a>>) -> Parsed<bool> {
        let opener = self.at.checked_sub(1).and_then(|at| self.src.as_bytes().get(at));
        let extended = matches!(opener, Some(b'@' | b'?' | b'*' | b'+' | b'!'));
        if until == Until::Pattern && !extended {
            return self.fault();
        }
        self.at += 1;
        let inner = self.deeper(|parser| parser.pieces(Until::Group))?;
        self.expect(")")?;
        pieces.push(Piece::Plain("("));
        pieces.extend(inner);
        pieces.push(Piece::Plain(")"));
        Ok(true)
    }

    /// Reads a line continuation inside of a word. Returns whether the word continues.
    ///
    /// The two halves of a word are not joined, because the result could be a reserved word or a
    /// descriptor.
    fn continuation(&mut self, until: Until) -> Parsed<bool> {
        if until == Until::Brace {
            self.at += 2;
            return Ok(true);
        }
        match self.ahead(2) {
            None | Some(b' ' | b'\t' | b'\n') => Ok(false),
            Some(_) => self.fault(),
        }
    }

    fn escaped(&mut self) -> Parsed<Piece<'a>> {
        let start = self.at + 1;
        let Some(next) = self.src.get(start..).and_then(|rest| rest.chars().next()) else {
            return self.fault();
        };
        self.at = start + next.len_utf8();
        Ok(Piece::Fixed(Cow::Borrowed(self.slice(start, self.at))))
    }

    fn process(&mut self) -> Parsed<Piece<'a>> {
        self.bashisms = true;
        self.at += 2;
        Ok(Piece::Process(self.substitution()?))
    }
}
