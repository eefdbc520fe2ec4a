//! Parsing of unquoted words.

use std::borrow::Cow;

use openoxide_protocol::Span;

use super::{
    brace_expansion,
    byte_classes::{is_metacharacter, is_plain_byte},
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::{ShellWord, WordPiece},
};

/// The text that ends a run of unquoted pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WordEnd {
    /// A blank or an operator.
    Meta,
    /// The `}` of `${…}`.
    Brace,
    /// Like `Meta`, but parentheses group and `|` is text: the right side of `=~`.
    Regex,
    /// Like `Meta`, but `@(a|b)` and similar forms are patterns: the right side of `==` in `[[ ]]`.
    Pattern,
    /// The `)` of a group in a regular expression or pattern.
    Group,
}

impl<'a> ScriptParser<'a> {
    /// Parses one word, which must not be empty.
    pub(super) fn parse_word(&mut self) -> ParseResult<ShellWord<'a>> {
        self.parse_word_until(WordEnd::Meta)
    }

    /// Parses one word, which must not be empty, up to `until`.
    pub(super) fn parse_word_until(&mut self, until: WordEnd) -> ParseResult<ShellWord<'a>> {
        let start = self.offset;
        let pieces = self.parse_pieces(until)?;
        if pieces.is_empty() {
            return self.syntax_error();
        }
        let source = |span: Span| {
            let bound = |at| usize::try_from(at).unwrap_or_default();
            self.source_between(bound(span.start), bound(span.end))
        };
        if brace_expansion::may_form_expansion(&pieces, &source) {
            self.note_unusual(start);
        }
        Ok(ShellWord { pieces, span: self.span_from(start) })
    }

    /// Parses unquoted pieces up to `until`, which is not consumed.
    pub(super) fn parse_pieces(&mut self, until: WordEnd) -> ParseResult<Vec<WordPiece<'a>>> {
        let mut pieces = Vec::with_capacity(1);
        while let Some(byte) = self.peek() {
            if is_plain_byte(byte) && !(byte == b'}' && until == WordEnd::Brace) {
                pieces.push(WordPiece::Unquoted(self.parse_unquoted_run(until)));
            } else if !self.parse_special_character(byte, until, &mut pieces)? {
                break;
            }
        }
        Ok(pieces)
    }

    fn parse_unquoted_run(&mut self, until: WordEnd) -> &'a str {
        self.take_while(|byte| is_plain_byte(byte) && !(byte == b'}' && until == WordEnd::Brace))
    }

    /// Parses a piece that is not plain. Returns whether the word continues.
    fn parse_special_character(
        &mut self,
        byte: u8,
        until: WordEnd,
        pieces: &mut Vec<WordPiece<'a>>,
    ) -> ParseResult<bool> {
        let piece = match byte {
            b'\\' if self.peek_ahead(1) == Some(b'\n') => {
                return self.parse_line_continuation(until);
            }
            b'\\' => self.parse_escaped_character()?,
            b'\'' => self.parse_single_quoted()?,
            b'"' => self.parse_double_quoted()?,
            b'$' => self.parse_dollar(false)?,
            b'`' => self.parse_backquote(false)?,
            b'<' | b'>' if self.peek_ahead(1) == Some(b'(') => self.parse_process_substitution()?,
            _ => return self.parse_operator_text(byte, until, pieces),
        };
        pieces.push(piece);
        Ok(true)
    }

    /// Parses an operator or blank that may be text here. Returns whether the word continues.
    fn parse_operator_text(
        &mut self,
        byte: u8,
        until: WordEnd,
        pieces: &mut Vec<WordPiece<'a>>,
    ) -> ParseResult<bool> {
        match (until, byte) {
            (WordEnd::Brace, b'}') | (WordEnd::Group, b')') => return Ok(false),
            (WordEnd::Regex | WordEnd::Pattern | WordEnd::Group, b'(') => {
                return self.parse_pattern_group(until, pieces);
            }
            (WordEnd::Regex, b'|') | (WordEnd::Group, b'|' | b' ') | (WordEnd::Brace, _) => {}
            (WordEnd::Group, _) => return self.syntax_error(),
            _ => return if is_metacharacter(byte) { Ok(false) } else { self.syntax_error() },
        }
        let start = self.offset;
        self.offset += 1;
        pieces.push(WordPiece::Unquoted(self.source_between(start, self.offset)));
        Ok(true)
    }

    fn parse_pattern_group(
        &mut self,
        until: WordEnd,
        pieces: &mut Vec<WordPiece<'a>>,
    ) -> ParseResult<bool> {
        let opener = self.offset.checked_sub(1).and_then(|at| self.source.as_bytes().get(at));
        let extended = matches!(opener, Some(b'@' | b'?' | b'*' | b'+' | b'!'));
        if until == WordEnd::Pattern && !extended {
            return self.syntax_error();
        }
        self.offset += 1;
        let inner = self.with_deeper_nesting(|parser| parser.parse_pieces(WordEnd::Group))?;
        self.expect(")")?;
        pieces.push(WordPiece::Unquoted("("));
        pieces.extend(inner);
        pieces.push(WordPiece::Unquoted(")"));
        Ok(true)
    }

    /// Parses a line continuation inside a word. Returns whether the word continues.
    ///
    /// The two halves of a word are not joined, because the result could be a reserved word or a
    /// descriptor.
    fn parse_line_continuation(&mut self, until: WordEnd) -> ParseResult<bool> {
        if until == WordEnd::Brace {
            self.offset += 2;
            return Ok(true);
        }
        match self.peek_ahead(2) {
            None | Some(b' ' | b'\t' | b'\n') => Ok(false),
            Some(_) => self.syntax_error(),
        }
    }

    fn parse_escaped_character(&mut self) -> ParseResult<WordPiece<'a>> {
        let start = self.offset + 1;
        let Some(next) = self.source.get(start..).and_then(|rest| rest.chars().next()) else {
            return self.syntax_error();
        };
        self.offset = start + next.len_utf8();
        Ok(WordPiece::Literal(Cow::Borrowed(self.source_between(start, self.offset))))
    }

    fn parse_process_substitution(&mut self) -> ParseResult<WordPiece<'a>> {
        self.uses_bashisms = true;
        self.offset += 2;
        Ok(WordPiece::Process(self.parse_substitution()?))
    }
}
