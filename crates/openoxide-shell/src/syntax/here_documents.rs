//! Parsing of here-documents, which `<<` announces and whose bodies begin after the end of the
//! line.

use std::borrow::Cow;

use super::{
    parser_cursor::{ParseResult, PendingHeredoc, ScriptParser},
    syntax_tree::WordPiece,
};

impl<'a> ScriptParser<'a> {
    /// Parses the delimiter after `<<` or `<<-`, and returns the index of the body.
    pub(super) fn parse_heredoc_operator(&mut self, tabs: bool) -> ParseResult<usize> {
        // Inside a body, the lines and delimiters of two here-documents would have to be
        // distinguished.
        if self.in_heredoc {
            return self.syntax_error();
        }
        self.skip_blanks();
        let (delimiter, quoted) = self.parse_heredoc_delimiter()?;
        self.heredoc_count += 1;
        let index = self.heredocs.len();
        self.heredocs.push(Vec::new());
        self.pending.push(PendingHeredoc {
            delimiter,
            is_quoted: quoted,
            strips_tabs: tabs,
            index,
        });
        Ok(index)
    }

    fn parse_heredoc_delimiter(&mut self) -> ParseResult<(Cow<'a, str>, bool)> {
        let word = self.parse_word()?;
        let mut text = String::new();
        let mut quoted = false;
        for piece in &word.pieces {
            match piece {
                WordPiece::Unquoted(plain) => text.push_str(plain),
                WordPiece::Literal(fixed) => {
                    text.push_str(fixed);
                    quoted = true;
                }
                _ => return self.syntax_error(),
            }
        }
        // `$` would be literal here, but bash versions differ in what they treat as quoted.
        if text.contains(['$', '`', '\n', '\\']) {
            return self.syntax_error();
        }
        Ok((Cow::Owned(text), quoted))
    }

    /// Reads the bodies of the announced here-documents, the first at the cursor.
    pub(super) fn read_heredocs(&mut self) -> ParseResult<()> {
        for pending in std::mem::take(&mut self.pending) {
            let start = self.offset;
            let end = self.find_heredoc_end(&pending)?;
            let body = self.parse_heredoc_body(&pending, start, end)?;
            if let Some(place) = self.heredocs.get_mut(pending.index) {
                *place = body;
            }
        }
        Ok(())
    }

    /// Moves past the line that contains the delimiter, and returns where the body ends.
    fn find_heredoc_end(&mut self, pending: &PendingHeredoc<'_>) -> ParseResult<usize> {
        // The joined text of earlier lines, each of which ended in a backslash.
        let mut joined = String::new();
        loop {
            let start = self.offset;
            if start >= self.source.len() {
                return self.syntax_error();
            }
            let line = self.take_while(|byte| byte != b'\n');
            self.consume("\n");
            let tail = if pending.strips_tabs && joined.is_empty() {
                line.trim_start_matches('\t')
            } else {
                line
            };
            if joined.is_empty() && tail == pending.delimiter {
                return Ok(start);
            }
            self.reject_ambiguous_heredoc_end(pending, &joined, tail)?;
            if !pending.is_quoted && ends_in_line_continuation(line) {
                joined.push_str(tail.strip_suffix('\\').unwrap_or(tail));
                joined.push('\0'); // Marks that lines were joined, even empty ones.
            } else {
                joined.clear();
            }
        }
    }

    /// Rejects a document that bash ends at something other than its delimiter on a separate line.
    fn reject_ambiguous_heredoc_end(
        &self,
        pending: &PendingHeredoc<'_>,
        joined: &str,
        tail: &str,
    ) -> ParseResult<()> {
        let early = self.in_substitution
            && tail.starts_with(pending.delimiter.as_ref())
            && tail.contains(')');
        let split = !joined.is_empty()
            && format!("{}{tail}", joined.replace('\0', "")).trim_start_matches('\t')
                == pending.delimiter;
        if early || split { self.syntax_error() } else { Ok(()) }
    }

    fn parse_heredoc_body(
        &mut self,
        pending: &PendingHeredoc<'_>,
        start: usize,
        end: usize,
    ) -> ParseResult<Vec<WordPiece<'a>>> {
        let text = self.source_between(start, end);
        if pending.is_quoted {
            let text =
                if pending.strips_tabs { strip_leading_tabs(text) } else { Cow::Borrowed(text) };
            return Ok(vec![WordPiece::Literal(text)]);
        }
        // Lines are joined before expansion. In a substitution, this includes lines inside single
        // quotes.
        if text.contains("\\\n") && text.contains(['$', '`']) {
            return self.syntax_error();
        }
        // Tabs are removed before expansion. The text of a body with tabs is treated as unknown.
        let mut inner = ScriptParser {
            source: self.source_between(0, end),
            offset: start,
            depth: self.depth,
            pending: Vec::new(),
            heredocs: Vec::new(),
            in_heredoc: true,
            in_substitution: self.in_substitution,
            uses_bashisms: false,
            retries: self.retries,
            heredoc_count: 0,
            unusual_offset: self.unusual_offset,
        };
        let pieces = inner.parse_heredoc_text()?;
        self.unusual_offset = inner.unusual_offset;
        self.uses_bashisms |= inner.uses_bashisms;
        self.retries = inner.retries;
        if pending.strips_tabs && text.contains('\t') {
            return Ok(vec![WordPiece::Translated(pieces)]);
        }
        Ok(pieces)
    }
}

/// Returns whether `line` ends in a backslash that is not itself escaped.
fn ends_in_line_continuation(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

fn strip_leading_tabs(text: &str) -> Cow<'_, str> {
    text.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect::<String>().into()
}
