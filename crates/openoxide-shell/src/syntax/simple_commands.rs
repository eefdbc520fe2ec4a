//! Parsing of simple commands: assignments, words and redirections.

use super::{
    byte_classes::{is_metacharacter, is_name_continue, is_name_start, is_reserved_word},
    parser_cursor::{ParseResult, ScriptParser},
    syntax_tree::{Assignment, ShellCommand, ShellWord, SimpleCommand, WordPiece},
};

impl<'a> ScriptParser<'a> {
    /// Parses a simple command, or the definition of a function.
    pub(super) fn parse_simple_command(&mut self) -> ParseResult<ShellCommand<'a>> {
        let start = self.offset;
        let mut simple = SimpleCommand::default();
        let (mut end, mut redirected) = (start, false);
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.parse_redirection()? {
                simple.redirects.push(redirect);
                redirected |= simple.words.is_empty();
            } else if self.is_at_simple_end()? {
                break;
            } else if self.peek() == Some(b'(') {
                return self.parse_function_definition(&simple);
            } else if simple.words.is_empty()
                && let Some(assignment) = self.parse_assignment()?
            {
                simple.assignments.push(assignment);
            } else {
                let word = self.parse_argument(&simple)?;
                simple.words.push(word);
            }
            end = self.offset;
        }
        if end == start {
            return self.syntax_error();
        }
        simple.span = openoxide_protocol::Span::new(start, end);
        self.reject_late_reserved_word(&simple)?;
        // When bash prints the command, its redirections come last.
        if redirected && !(simple.words.is_empty() && simple.assignments.is_empty()) {
            self.note_unusual_in_substitution(start);
        }
        Ok(ShellCommand::Simple(simple))
    }

    /// Returns whether the command ends here. A comment is skipped.
    fn is_at_simple_end(&mut self) -> ParseResult<bool> {
        if self.peek() == Some(b'#') {
            self.skip_comment();
        }
        Ok(match self.peek() {
            None | Some(b'\n' | b';' | b'|' | b')') => true,
            Some(b'&') => self.peek_ahead(1) != Some(b'>') || self.syntax_error()?,
            _ => false,
        })
    }

    /// Rejects a reserved word after assignments or redirections. It is the name of a program
    /// there, but not always: in a substitution, bash 5.2 prints the command with its redirections
    /// last and parses the result, so `time >f -p x` becomes `time -p x >f`.
    fn reject_late_reserved_word(&self, simple: &SimpleCommand<'a>) -> ParseResult<()> {
        let bare = simple.assignments.is_empty() && simple.redirects.is_empty();
        match simple.words.first().and_then(ShellWord::as_plain_text) {
            Some(name) if !bare && (is_reserved_word(name) || matches!(name, "-p" | "--")) => {
                self.syntax_error()
            }
            _ => Ok(()),
        }
    }

    fn parse_function_definition(
        &mut self,
        simple: &SimpleCommand<'a>,
    ) -> ParseResult<ShellCommand<'a>> {
        let bare = simple.assignments.is_empty() && simple.redirects.is_empty();
        match simple.words.as_slice() {
            [name] if bare => {
                self.offset += 1;
                self.skip_blanks();
                self.expect(")")?;
                let Some(name) = name.as_plain_text() else { return self.syntax_error() };
                self.parse_function_body(name)
            }
            _ => self.syntax_error(),
        }
    }

    fn parse_argument(&mut self, simple: &SimpleCommand<'a>) -> ParseResult<ShellWord<'a>> {
        let mut word = self.parse_word()?;
        if self.peek() == Some(b'(') && !simple.words.is_empty() {
            let first = simple.words.first().and_then(ShellWord::as_plain_text).unwrap_or_default();
            let declares = matches!(first, "declare" | "typeset" | "local" | "export" | "readonly");
            if !declares || !word.as_plain_text().is_some_and(|text| text.ends_with('=')) {
                return self.syntax_error();
            }
            word.pieces.push(self.parse_array()?);
            word.span.end = self.span_from(self.offset).end;
        }
        Ok(word)
    }

    /// Parses an assignment, if one begins at the cursor.
    pub(super) fn parse_assignment(&mut self) -> ParseResult<Option<Assignment<'a>>> {
        let start = self.offset;
        if !self.peek().is_some_and(is_name_start) {
            return Ok(None);
        }
        let name = self.take_while(is_name_continue);
        let subscript = self.parse_assignment_subscript()?;
        let append = self.starts_with("+=");
        if !self.consume("+=") && !self.consume("=") {
            if subscript.is_some() {
                return self.syntax_error();
            }
            self.offset = start;
            return Ok(None);
        }
        self.uses_bashisms |= append || subscript.is_some();
        self.reject_hidden_operator(b"(")?;
        let value = self.parse_assignment_value(subscript.is_some())?;
        Ok(Some(Assignment { name, subscript, append, value, span: self.span_from(start) }))
    }

    fn parse_assignment_subscript(&mut self) -> ParseResult<Option<Vec<WordPiece<'a>>>> {
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        self.offset += 1;
        let text = self.with_deeper_nesting(|parser| parser.parse_arithmetic(b"]"))?;
        self.expect("]")?;
        Ok(Some(text))
    }

    fn parse_assignment_value(&mut self, element: bool) -> ParseResult<ShellWord<'a>> {
        let start = self.offset;
        let pieces = if self.peek() == Some(b'(') {
            if element {
                return self.syntax_error();
            }
            vec![self.parse_array()?]
        } else {
            self.parse_pieces(super::words::WordEnd::Meta)?
        };
        Ok(ShellWord { pieces, span: self.span_from(start) })
    }

    /// Parses `(…)` after `name=`.
    fn parse_array(&mut self) -> ParseResult<WordPiece<'a>> {
        self.uses_bashisms = true;
        self.offset += 1;
        let mut elements = Vec::new();
        self.reject_pending_heredoc()?;
        loop {
            self.skip_lines()?;
            if self.consume(")") {
                // Text directly after the array still belongs to the assignment.
                return match self.peek() {
                    Some(byte) if !is_metacharacter(byte) => self.syntax_error(),
                    _ => Ok(WordPiece::Array(elements)),
                };
            }
            let word = self.parse_word()?;
            if self.peek() == Some(b'(') {
                return self.syntax_error();
            }
            elements.push(word);
        }
    }

    fn reject_pending_heredoc(&mut self) -> ParseResult<()> {
        // A here-document announced before the array would begin at a newline inside it.
        if self.pending.is_empty() { Ok(()) } else { self.syntax_error() }
    }
}
