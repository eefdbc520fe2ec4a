//! Simple commands: assignments, words and redirections.

use super::{
    bytes::{begins_name, continues_name, is_meta, is_reserved},
    cursor::{Parsed, Parser},
    tree::{Assignment, Command, Piece, Simple, Word},
};

impl<'a> Parser<'a> {
    /// Reads a simple command, or the definition of a function.
    pub(super) fn simple(&mut self) -> Parsed<Command<'a>> {
        let start = self.at;
        let mut simple = Simple::default();
        let (mut end, mut redirected) = (start, false);
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect()? {
                simple.redirects.push(redirect);
                redirected |= simple.words.is_empty();
            } else if self.ends_simple()? {
                break;
            } else if self.peek() == Some(b'(') {
                return self.function_of(&simple);
            } else if simple.words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                simple.assignments.push(assignment);
            } else {
                let word = self.argument(&simple)?;
                simple.words.push(word);
            }
            end = self.at;
        }
        if end == start {
            return self.fault();
        }
        simple.span = openoxide_protocol::Span::new(start, end);
        self.refuse_late_reserved(&simple)?;
        // Written out, its redirections come last.
        if redirected && !(simple.words.is_empty() && simple.assignments.is_empty()) {
            self.unusual_in_substitution(start);
        }
        Ok(Command::Simple(simple))
    }

    /// Returns whether the command ends here. A comment is skipped.
    fn ends_simple(&mut self) -> Parsed<bool> {
        if self.peek() == Some(b'#') {
            self.skip_comment();
        }
        Ok(match self.peek() {
            None | Some(b'\n' | b';' | b'|' | b')') => true,
            Some(b'&') => self.ahead(1) != Some(b'>') || self.fault()?,
            _ => false,
        })
    }

    /// Gives up on a reserved word after assignments or redirections: it is a program's name there, but to whom? In a substitution
    /// bash 5.2 writes the command anew, its redirections last, and reads that: so `time >f -p x` becomes `time -p x >f`.
    fn refuse_late_reserved(&self, simple: &Simple<'a>) -> Parsed<()> {
        let bare = simple.assignments.is_empty() && simple.redirects.is_empty();
        match simple.words.first().and_then(Word::plain) {
            Some(name) if !bare && (is_reserved(name) || matches!(name, "-p" | "--")) => {
                self.fault()
            }
            _ => Ok(()),
        }
    }

    fn function_of(&mut self, simple: &Simple<'a>) -> Parsed<Command<'a>> {
        let bare = simple.assignments.is_empty() && simple.redirects.is_empty();
        match simple.words.as_slice() {
            [name] if bare => {
                self.at += 1;
                self.skip_blanks();
                self.expect(")")?;
                let Some(name) = name.plain() else { return self.fault() };
                self.function_body(name)
            }
            _ => self.fault(),
        }
    }

    fn argument(&mut self, simple: &Simple<'a>) -> Parsed<Word<'a>> {
        let mut word = self.word()?;
        if self.peek() == Some(b'(') && !simple.words.is_empty() {
            let first = simple.words.first().and_then(Word::plain).unwrap_or_default();
            let declares = matches!(first, "declare" | "typeset" | "local" | "export" | "readonly");
            if !declares || !word.plain().is_some_and(|text| text.ends_with('=')) {
                return self.fault();
            }
            word.pieces.push(self.array()?);
            word.span.end = self.span_from(self.at).end;
        }
        Ok(word)
    }

    /// Reads an assignment, if one begins here.
    pub(super) fn assignment(&mut self) -> Parsed<Option<Assignment<'a>>> {
        let start = self.at;
        if !self.peek().is_some_and(begins_name) {
            return Ok(None);
        }
        let name = self.take_while(continues_name);
        let subscript = self.assigned_subscript()?;
        let append = self.sees("+=");
        if !self.eat("+=") && !self.eat("=") {
            if subscript.is_some() {
                return self.fault();
            }
            self.at = start;
            return Ok(None);
        }
        self.bashisms |= append || subscript.is_some();
        self.no_hidden(b"(")?;
        let value = self.value(subscript.is_some())?;
        Ok(Some(Assignment { name, subscript, append, value, span: self.span_from(start) }))
    }

    fn assigned_subscript(&mut self) -> Parsed<Option<Vec<Piece<'a>>>> {
        if self.peek() != Some(b'[') {
            return Ok(None);
        }
        self.at += 1;
        let text = self.deeper(|parser| parser.arithmetic(b"]"))?;
        self.expect("]")?;
        Ok(Some(text))
    }

    fn value(&mut self, element: bool) -> Parsed<Word<'a>> {
        let start = self.at;
        let pieces = if self.peek() == Some(b'(') {
            if element {
                return self.fault();
            }
            vec![self.array()?]
        } else {
            self.pieces(super::word::Until::Meta)?
        };
        Ok(Word { pieces, span: self.span_from(start) })
    }

    /// Reads `(…)` after `name=`.
    fn array(&mut self) -> Parsed<Piece<'a>> {
        self.bashisms = true;
        self.at += 1;
        let mut elements = Vec::new();
        self.no_document_waits()?;
        loop {
            self.skip_lines()?;
            if self.eat(")") {
                // Text directly after it still belongs to the assignment.
                return match self.peek() {
                    Some(byte) if !is_meta(byte) => self.fault(),
                    _ => Ok(Piece::Array(elements)),
                };
            }
            let word = self.word()?;
            if self.peek() == Some(b'(') {
                return self.fault();
            }
            elements.push(word);
        }
    }

    fn no_document_waits(&mut self) -> Parsed<()> {
        // A document announced before the array would begin at a newline inside it.
        if self.pending.is_empty() { Ok(()) } else { self.fault() }
    }
}
