//! The place in the text, and how to move it.

use openoxide_protocol::Span;

use super::{
    bytes,
    heredoc::Pending,
    tree::{List, Piece, Tree},
};

/// The maximum nesting depth of constructs. A script with deeper nesting could not be reviewed by a
/// person anyway, so nothing is lost by asking.
pub(crate) const MAX_DEPTH: u8 = 48;

/// The position and the reason of a parse failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) too_deep: bool,
}

/// The result of reading something.
pub(super) type Parsed<T> = Result<T, Fault>;

/// A reader of one script.
#[derive(Debug)]
pub(super) struct Parser<'a> {
    pub(super) src: &'a str, // INVARIANT: cut and moved at ASCII bytes only, so every slice is a string.
    pub(super) at: usize,
    pub(super) depth: u8,
    pub(super) pending: Vec<Pending<'a>>,
    pub(super) heredocs: Vec<Vec<Piece<'a>>>,
    pub(super) in_heredoc: bool,
    pub(super) in_substitution: bool,
    pub(super) bashisms: bool,
    pub(super) retries: u8,
    /// The number of here-documents that this substitution has announced, without those of
    /// substitutions inside of it.
    pub(super) documents: usize,
    /// The position of the first construct that is rarely used.
    pub(super) unusual: Option<usize>,
}

/// Parses `src` like bash 5.2. The commands before a fault are kept, because bash would have run
/// them.
pub(crate) fn parse(src: &str, depth: u8) -> (Tree<'_>, Option<Fault>) {
    let mut parser = Parser::new(src, depth);
    let mut list = List::new();
    let fault = parser.script(&mut list).err();
    let Parser { heredocs, bashisms, unusual, .. } = parser;
    (Tree { list, heredocs, bashisms, unusual }, fault)
}

impl<'a> Parser<'a> {
    fn new(src: &'a str, depth: u8) -> Self {
        Self {
            src,
            at: 0,
            depth,
            pending: Vec::new(),
            heredocs: Vec::new(),
            in_heredoc: false,
            in_substitution: false,
            bashisms: false,
            retries: 0,
            documents: 0,
            unusual: None,
        }
    }

    /// Records that there is a rarely used construct at `at` that bash has been observed to read in
    /// surprising ways. The commands in it are listed as usual, but the list is not reliable.
    /// Therefore the script is opaque as well.
    pub(super) fn unusual(&mut self, at: usize) {
        self.unusual.get_or_insert(at);
    }

    /// As [`Self::unusual`], in a substitution: bash 5.2 writes its commands out and reads that again, and what it writes is not
    /// always what it has read: `coproc x` becomes `coproc COPROC x`.
    pub(super) fn unusual_in_substitution(&mut self, at: usize) {
        if self.in_substitution {
            self.unusual(at);
        }
    }

    fn script(&mut self, list: &mut List<'a>) -> Parsed<()> {
        self.list_into(list)?;
        if self.at < self.src.len() || !self.pending.is_empty() {
            return self.fault();
        }
        Ok(())
    }

    /// Returns the byte at the cursor.
    pub(super) fn peek(&self) -> Option<u8> {
        self.ahead(0)
    }

    /// Returns the byte `by` places after the cursor.
    pub(super) fn ahead(&self, by: usize) -> Option<u8> {
        self.src.as_bytes().get(self.at + by).copied()
    }

    /// Returns whether the remaining text starts with `text`.
    pub(super) fn sees(&self, text: &str) -> bool {
        self.src.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(text.as_bytes()))
    }

    /// Consumes `text` if it is next. Returns whether it was.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let seen = self.sees(text);
        if seen {
            self.at += text.len();
        }
        seen
    }

    /// Consumes `text`, which must be next.
    pub(super) fn expect(&mut self, text: &str) -> Parsed<()> {
        if self.eat(text) { Ok(()) } else { self.fault() }
    }

    /// Gives up here.
    pub(super) fn fault<T>(&self) -> Parsed<T> {
        Err(Fault { at: self.at, too_deep: false })
    }

    /// Returns the text between two places.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a str {
        self.src.get(start..end).unwrap_or_default()
    }

    /// Returns the span from `start` to the cursor.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span::new(start, self.at)
    }

    /// Consumes bytes as long as `wanted` returns true, and returns them.
    pub(super) fn take_while(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.slice(start, self.at)
    }

    /// Reads something one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Fault { at: self.at, too_deep: true });
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
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.ahead(1) == Some(b'\n') => self.at += 2,
                _ => return,
            }
        }
    }

    /// Moves past blanks, comments and newlines; here-documents are read on the way.
    pub(super) fn skip_lines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'#') => self.skip_comment(),
                Some(b'\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    /// Moves to the end of a comment's line.
    pub(super) fn skip_comment(&mut self) {
        self.take_while(|byte| byte != b'\n');
    }

    /// Moves past a newline, and past the here-documents that begin after it.
    pub(super) fn newline(&mut self) -> Parsed<()> {
        self.at += 1;
        self.read_heredocs()
    }

    /// Gives up if a line continuation hides one of `bytes`, which would make a longer operator.
    pub(super) fn no_hidden(&self, bytes: &[u8]) -> Parsed<()> {
        let mut by = 0;
        while self.ahead(by) == Some(b'\\') && self.ahead(by + 1) == Some(b'\n') {
            by += 2;
        }
        match self.ahead(by) {
            Some(next) if by > 0 && bytes.contains(&next) => self.fault(),
            _ => Ok(()),
        }
    }

    /// Returns the unquoted text up to the next metacharacter, without consuming it. A process
    /// substitution continues the word before it, so `[[<(a)` is not a reserved word.
    pub(super) fn peek_plain(&self) -> &'a str {
        let rest = self.src.as_bytes().get(self.at..).unwrap_or_default();
        let length = rest.iter().position(|byte| !bytes::is_plain(*byte)).unwrap_or(rest.len());
        match rest.get(length) {
            Some(byte) if !bytes::is_meta(*byte) => "",
            Some(b'<' | b'>') if self.begins_process(self.at + length) => "",
            _ => self.slice(self.at, self.at + length),
        }
    }

    /// Returns whether the `<` or `>` at this position begins a process substitution.
    fn begins_process(&self, at: usize) -> bool {
        let mut rest = self.src.get(at + 1..).unwrap_or_default();
        while let Some(joined) = rest.strip_prefix("\\\n") {
            rest = joined;
        }
        rest.starts_with('(')
    }

    /// Gives up where a reserved word goes on in the next line: `!\⏎ a`, `t\⏎ime a`.
    pub(super) fn no_torn_word(&self) -> Parsed<()> {
        let mut rest = self.src.get(self.at..).unwrap_or_default();
        let mut word = String::new();
        let mut torn = false;
        loop {
            let end = rest.bytes().position(|byte| !bytes::is_plain(byte)).unwrap_or(rest.len());
            let (plain, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
            match after.strip_prefix("\\\n") {
                Some(next) => rest = next,
                None if !torn => return Ok(()),
                None => break word.push_str(plain),
            }
            word.push_str(plain);
            torn = true;
        }
        let special = bytes::is_reserved(&word) || matches!(word.as_str(), "-p" | "--");
        if special { self.fault() } else { Ok(()) }
    }

    /// Consumes the reserved word `word` if it is the next whole word. Returns whether it was.
    pub(super) fn eat_reserved(&mut self, word: &str) -> bool {
        let seen = self.peek_plain() == word;
        if seen {
            self.at += word.len();
        }
        seen
    }

    /// Consumes the reserved word `word`, which must be the next whole word.
    pub(super) fn expect_reserved(&mut self, word: &str) -> Parsed<()> {
        if self.eat_reserved(word) { Ok(()) } else { self.fault() }
    }
}
