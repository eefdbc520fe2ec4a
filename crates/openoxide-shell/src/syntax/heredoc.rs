//! Here-documents: announced by `<<`, read after the end of the line.

use std::borrow::Cow;

use super::{
    cursor::{Parsed, Parser},
    tree::Piece,
};

/// A here-document whose body is still to come.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    delimiter: Cow<'a, str>,
    quoted: bool,
    tabs: bool,
    index: usize,
}

impl<'a> Parser<'a> {
    /// Reads the delimiter after `<<` or `<<-`, and returns the index of the body.
    pub(super) fn announce_heredoc(&mut self, tabs: bool) -> Parsed<usize> {
        // Inside of a body, the lines and delimiters of two documents would have to be
        // distinguished.
        if self.in_heredoc {
            return self.fault();
        }
        self.skip_blanks();
        let (delimiter, quoted) = self.delimiter()?;
        self.documents += 1;
        let index = self.heredocs.len();
        self.heredocs.push(Vec::new());
        self.pending.push(Pending { delimiter, quoted, tabs, index });
        Ok(index)
    }

    fn delimiter(&mut self) -> Parsed<(Cow<'a, str>, bool)> {
        let word = self.word()?;
        let mut text = String::new();
        let mut quoted = false;
        for piece in &word.pieces {
            match piece {
                Piece::Plain(plain) => text.push_str(plain),
                Piece::Fixed(fixed) => {
                    text.push_str(fixed);
                    quoted = true;
                }
                _ => return self.fault(),
            }
        }
        // `$` would be literal here, but bash versions differ in what they take for quoted.
        if text.contains(['$', '`', '\n', '\\']) {
            return self.fault();
        }
        Ok((Cow::Owned(text), quoted))
    }

    /// Reads the bodies that begin at the cursor.
    pub(super) fn read_heredocs(&mut self) -> Parsed<()> {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.at;
            let end = self.find_end(&pending)?;
            let body = self.document(&pending, start, end)?;
            if let Some(place) = self.heredocs.get_mut(pending.index) {
                *place = body;
            }
        }
        Ok(())
    }

    /// Moves past the line that holds the delimiter, and returns where the body ends.
    fn find_end(&mut self, pending: &Pending<'_>) -> Parsed<usize> {
        let mut joined = String::new(); // What earlier lines hand on, each ending in a backslash.
        loop {
            let start = self.at;
            if start >= self.src.len() {
                return self.fault();
            }
            let line = self.take_while(|byte| byte != b'\n');
            self.eat("\n");
            let tail = if pending.tabs && joined.is_empty() {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if joined.is_empty() && tail == pending.delimiter {
                return Ok(start);
            }
            self.refuse_odd_end(pending, &joined, tail)?;
            if !pending.quoted && continues(line) {
                joined.push_str(tail.strip_suffix('\\').unwrap_or(tail));
                joined.push('\0'); // Marks that lines were joined, even empty ones.
            } else {
                joined.clear();
            }
        }
    }

    /// Rejects a document that bash ends at something other than its delimiter on a separate line.
    fn refuse_odd_end(&self, pending: &Pending<'_>, joined: &str, tail: &str) -> Parsed<()> {
        let early = self.in_substitution
            && tail.starts_with(pending.delimiter.as_ref())
            && tail.contains(')');
        let split = !joined.is_empty()
            && format!("{}{tail}", joined.replace('\0', "")).trim_start_matches('\t')
                == pending.delimiter;
        if early || split { self.fault() } else { Ok(()) }
    }

    fn document(
        &mut self,
        pending: &Pending<'_>,
        start: usize,
        end: usize,
    ) -> Parsed<Vec<Piece<'a>>> {
        let text = self.slice(start, end);
        if pending.quoted {
            let text = if pending.tabs { untabbed(text) } else { Cow::Borrowed(text) };
            return Ok(vec![Piece::Fixed(text)]);
        }
        // Lines are joined before anything is expanded, inside single quotes in a substitution as well.
        if text.contains("\\\n") && text.contains(['$', '`']) {
            return self.fault();
        }
        // Tabs are taken away before expansion; a known text with tabs is not worth the trouble.
        let mut inner = Parser {
            src: self.slice(0, end),
            at: start,
            depth: self.depth,
            pending: Vec::new(),
            heredocs: Vec::new(),
            in_heredoc: true,
            in_substitution: self.in_substitution,
            bashisms: false,
            retries: self.retries,
            documents: 0,
            unusual: self.unusual,
        };
        let pieces = inner.heredoc_text()?;
        self.unusual = inner.unusual;
        self.bashisms |= inner.bashisms;
        self.retries = inner.retries;
        if pending.tabs && text.contains('\t') {
            return Ok(vec![Piece::Translated(pieces)]);
        }
        Ok(pieces)
    }
}

/// Returns whether `line` ends in a backslash that is not itself escaped.
fn continues(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn untabbed(text: &str) -> Cow<'_, str> {
    text.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect::<String>().into()
}
