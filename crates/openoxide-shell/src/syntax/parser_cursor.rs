//! The parser's position in the text, and the functions that move it.

use std::borrow::Cow;

use openoxide_protocol::Span;

use super::{
    byte_classes,
    syntax_tree::{CommandList, SyntaxTree, WordPiece},
};

/// The maximum nesting depth of constructs. A person could not review a script with deeper nesting
/// anyway, so asking costs nothing.
pub(crate) const MAX_DEPTH: u8 = 48;

/// The position and the reason of a parse failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScriptSyntaxError {
    pub(crate) offset: usize,
    pub(crate) too_deep: bool,
}

/// The result of a parsing function.
pub(super) type ParseResult<T> = Result<T, ScriptSyntaxError>;

/// A here-document whose body has not been read yet.
#[derive(Debug)]
pub(super) struct PendingHeredoc<'a> {
    pub(super) delimiter: Cow<'a, str>,
    pub(super) is_quoted: bool,
    pub(super) strips_tabs: bool,
    pub(super) index: usize,
}

/// The parser of one script.
#[derive(Debug)]
pub(super) struct ScriptParser<'a> {
    // INVARIANT: cut and moved at ASCII bytes only, so every slice is a string.
    pub(super) source: &'a str,
    pub(super) offset: usize,
    pub(super) depth: u8,
    pub(super) pending: Vec<PendingHeredoc<'a>>,
    pub(super) heredocs: Vec<Vec<WordPiece<'a>>>,
    pub(super) in_heredoc: bool,
    pub(super) in_substitution: bool,
    pub(super) uses_bashisms: bool,
    pub(super) retries: u8,
    /// The number of here-documents that this substitution has announced, excluding those of nested
    /// substitutions.
    pub(super) heredoc_count: usize,
    /// The position of the first construct that is rarely used.
    pub(super) unusual_offset: Option<usize>,
}

/// Parses `src` like bash 5.2. The commands before a fault are kept, because bash would have run
/// them.
pub(crate) fn parse_script(src: &str, depth: u8) -> (SyntaxTree<'_>, Option<ScriptSyntaxError>) {
    let mut parser = ScriptParser::new(src, depth);
    let mut list = CommandList::new();
    let fault = parser.parse_whole_script(&mut list).err();
    let ScriptParser { heredocs, uses_bashisms: bashisms, unusual_offset: unusual, .. } = parser;
    (SyntaxTree { list, heredocs, uses_bashisms: bashisms, unusual_offset: unusual }, fault)
}

impl<'a> ScriptParser<'a> {
    fn new(source: &'a str, depth: u8) -> Self {
        Self {
            source,
            offset: 0,
            depth,
            pending: Vec::new(),
            heredocs: Vec::new(),
            in_heredoc: false,
            in_substitution: false,
            uses_bashisms: false,
            retries: 0,
            heredoc_count: 0,
            unusual_offset: None,
        }
    }

    /// Records that there is a rarely used construct at `at` that bash has been observed to read in
    /// surprising ways. The commands in it are listed as usual, but the list is not reliable.
    /// Therefore the script is opaque as well.
    pub(super) fn note_unusual(&mut self, at: usize) {
        self.unusual_offset.get_or_insert(at);
    }

    /// Like [`Self::note_unusual`], but only inside a substitution. bash 5.2 prints the commands of
    /// a substitution and parses the result again, and the result can differ: `coproc x` becomes
    /// `coproc COPROC x`.
    pub(super) fn note_unusual_in_substitution(&mut self, at: usize) {
        if self.in_substitution {
            self.note_unusual(at);
        }
    }

    fn parse_whole_script(&mut self, list: &mut CommandList<'a>) -> ParseResult<()> {
        self.parse_list_into(list)?;
        if self.offset < self.source.len() || !self.pending.is_empty() {
            return self.syntax_error();
        }
        Ok(())
    }

    /// Returns the byte at the cursor.
    pub(super) fn peek(&self) -> Option<u8> {
        self.peek_ahead(0)
    }

    /// Returns the byte `by` places after the cursor.
    pub(super) fn peek_ahead(&self, by: usize) -> Option<u8> {
        self.source.as_bytes().get(self.offset + by).copied()
    }

    /// Returns whether the remaining text starts with `text`.
    pub(super) fn starts_with(&self, text: &str) -> bool {
        self.source
            .as_bytes()
            .get(self.offset..)
            .is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    /// Consumes `text` if it is next. Returns whether it was.
    pub(super) fn consume(&mut self, text: &str) -> bool {
        let seen = self.starts_with(text);
        if seen {
            self.offset += text.len();
        }
        seen
    }

    /// Consumes `text`, which must be next.
    pub(super) fn expect(&mut self, text: &str) -> ParseResult<()> {
        if self.consume(text) { Ok(()) } else { self.syntax_error() }
    }

    /// Returns a syntax error at the cursor.
    pub(super) fn syntax_error<T>(&self) -> ParseResult<T> {
        Err(ScriptSyntaxError { offset: self.offset, too_deep: false })
    }

    /// Returns the text between two offsets.
    pub(super) fn source_between(&self, start: usize, end: usize) -> &'a str {
        self.source.get(start..end).unwrap_or_default()
    }

    /// Returns the span from `start` to the cursor.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.offset)
    }

    /// Consumes bytes while `wanted` returns true, and returns them.
    pub(super) fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let start = self.offset;
        while self.peek().is_some_and(&wanted) {
            self.offset += 1;
        }
        self.source_between(start, self.offset)
    }

    /// Runs a parsing function one nesting level deeper.
    pub(super) fn with_deeper_nesting<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> ParseResult<T>,
    ) -> ParseResult<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ScriptSyntaxError { offset: self.offset, too_deep: true });
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Moves past blanks and line continuations.
    pub(super) fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.offset += 1,
                Some(b'\\') if self.peek_ahead(1) == Some(b'\n') => self.offset += 2,
                _ => return,
            }
        }
    }

    /// Moves past blanks, comments and newlines. Here-documents on the way are read.
    pub(super) fn skip_lines(&mut self) -> ParseResult<()> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'#') => self.skip_comment(),
                Some(b'\n') => self.consume_newline()?,
                _ => return Ok(()),
            }
        }
    }

    /// Moves to the end of a comment's line.
    pub(super) fn skip_comment(&mut self) {
        self.take_while(|byte| byte != b'\n');
    }

    /// Moves past a newline, and past the here-documents that begin after it.
    pub(super) fn consume_newline(&mut self) -> ParseResult<()> {
        self.offset += 1;
        self.read_heredocs()
    }

    /// Returns an error if a line continuation hides one of `bytes`, which would make a longer
    /// operator.
    pub(super) fn reject_hidden_operator(&self, bytes: &[u8]) -> ParseResult<()> {
        let mut by = 0;
        while self.peek_ahead(by) == Some(b'\\') && self.peek_ahead(by + 1) == Some(b'\n') {
            by += 2;
        }
        match self.peek_ahead(by) {
            Some(next) if by > 0 && bytes.contains(&next) => self.syntax_error(),
            _ => Ok(()),
        }
    }

    /// Returns the unquoted text up to the next metacharacter, without consuming it. A process
    /// substitution continues the word before it, so `[[<(a)` is not a reserved word.
    pub(super) fn peek_plain_word(&self) -> &'a str {
        let rest = self.source.as_bytes().get(self.offset..).unwrap_or_default();
        let length =
            rest.iter().position(|byte| !byte_classes::is_plain_byte(*byte)).unwrap_or(rest.len());
        match rest.get(length) {
            Some(byte) if !byte_classes::is_metacharacter(*byte) => "",
            Some(b'<' | b'>') if self.is_at_process_substitution(self.offset + length) => "",
            _ => self.source_between(self.offset, self.offset + length),
        }
    }

    /// Returns whether the `<` or `>` at this position begins a process substitution.
    fn is_at_process_substitution(&self, at: usize) -> bool {
        let mut rest = self.source.get(at + 1..).unwrap_or_default();
        while let Some(joined) = rest.strip_prefix("\\\n") {
            rest = joined;
        }
        rest.starts_with('(')
    }

    /// Returns an error if a reserved word continues on the next line: `!\⏎ a`, `t\⏎ime a`.
    pub(super) fn reject_split_reserved_word(&self) -> ParseResult<()> {
        let mut rest = self.source.get(self.offset..).unwrap_or_default();
        let mut word = String::new();
        let mut torn = false;
        loop {
            let end = rest
                .bytes()
                .position(|byte| !byte_classes::is_plain_byte(byte))
                .unwrap_or(rest.len());
            let (plain, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            match after.strip_prefix("\\\n") {
                Some(next) => rest = next,
                None if !torn => return Ok(()),
                None => break word.push_str(plain),
            }
            word.push_str(plain);
            torn = true;
        }
        let special = byte_classes::is_reserved_word(&word) || matches!(word.as_str(), "-p" | "--");
        if special { self.syntax_error() } else { Ok(()) }
    }

    /// Consumes the reserved word `word` if it is the next whole word. Returns whether it was.
    pub(super) fn consume_reserved(&mut self, word: &str) -> bool {
        let seen = self.peek_plain_word() == word;
        if seen {
            self.offset += word.len();
        }
        seen
    }

    /// Consumes the reserved word `word`, which must be the next whole word.
    pub(super) fn expect_reserved(&mut self, word: &str) -> ParseResult<()> {
        if self.consume_reserved(word) { Ok(()) } else { self.syntax_error() }
    }
}
