//! The commands that run while a word is expanded.

use openoxide_protocol::Span;

use super::{
    Source, Walk,
    arithmetic::is_changing,
    assign::{Value, is_number},
    expand::Lookup,
};
use crate::{
    findings::Code,
    syntax::{
        is_name,
        tree::{Command, Form, List, Parameter, Piece, Subscript, Word},
    },
};

impl Walk<'_> {
    /// Walks what `word` runs while it is expanded.
    pub(super) fn visit_word<'a>(&mut self, source: Source<'a, '_>, word: &Word<'a>) {
        self.note_differences(&word.pieces, false);
        if word.plain().is_none() {
            let span = self.span(source, word.span);
            self.visit(source, &word.pieces, span);
        }
    }

    /// Walks what these pieces run while they are expanded.
    pub(super) fn visit<'a>(&mut self, source: Source<'a, '_>, pieces: &[Piece<'a>], span: Span) {
        for piece in pieces {
            match piece {
                Piece::Plain(_) | Piece::Fixed(_) => {}
                Piece::Quoted(pieces) | Piece::Translated(pieces) => {
                    self.visit(source, pieces, span);
                }
                Piece::Parameter(parameter) => self.visit_parameter(source, parameter),
                Piece::Command(list) => {
                    self.share_stdin();
                    self.substitution(source, list, false);
                }
                Piece::Process(list) => {
                    // It reads the output of the command, or the pipe, concurrently with all the
                    // others.
                    self.seen.torn |= self.stdin.is_some();
                    self.share_stdin();
                    self.fed_elsewhere(|walk| walk.substitution(source, list, true));
                }
                Piece::Backquote(text, inner) => {
                    let inner = self.span(source, *inner);
                    self.share_stdin();
                    self.apart(|walk| {
                        walk.script(text, inner);
                    });
                }
                Piece::Arithmetic(pieces) => self.arithmetic(source, pieces, span),
                Piece::Array(elements) => self.visit_elements(source, elements),
            }
        }
    }

    fn substitution<'a>(&mut self, source: Source<'a, '_>, list: &List<'a>, piped: bool) {
        let was = std::mem::replace(&mut self.piped, piped);
        self.prints = None;
        self.apart(|walk| {
            walk.list(source, list);
        });
        self.piped = was;
        self.note_output(list);
    }

    /// Notes which files the output of a substitution names, if that is known: it must come from one pipeline.
    fn note_output(&mut self, list: &List<'_>) {
        let place = std::ptr::from_ref(list).addr();
        self.substituted.retain(|(at, _)| *at != place);
        let [item] = list.as_slice() else { return };
        let simple = |command: &Command<'_>| matches!(command, Command::Simple(_));
        let one =
            !item.background && item.rest.is_empty() && item.first.commands.iter().all(simple);
        if let (true, Some(paths)) = (one, self.prints.take()) {
            self.substituted.push((place, paths));
        }
    }

    fn visit_elements<'a>(&mut self, source: Source<'a, '_>, elements: &[Word<'a>]) {
        // They are put into the array one by one: a subscript may read, and evaluate, those before it.
        let texts = self.seen.taints_any() || self.known.taints_any();
        let dull = !texts && elements.iter().all(is_dull);
        for element in elements {
            self.visit_word(source, element);
            if let Some(Piece::Plain(text)) = element.pieces.first()
                && text.starts_with('[')
            {
                self.element_subscript(source, element, dull);
            }
        }
    }

    /// Looks at `[subscript]=value` in an array: the subscript is arithmetic, and where it ends is not read exactly.
    fn element_subscript(&mut self, source: Source<'_, '_>, element: &Word<'_>, dull: bool) {
        self.may_fail();
        let plain = match element.pieces.first() {
            Some(Piece::Plain(text)) => text.split_once(']').map(|(subscript, _)| subscript),
            _ => None,
        };
        let span = self.span(source, element.span);
        match plain {
            Some(subscript) if is_changing(subscript) => self.number_assignments(subscript, span),
            Some(_) => {}
            None => self.arithmetic_assignments(&element.pieces, span),
        }
        let harmless = match plain {
            Some(subscript) => {
                let subscript = subscript.trim_start_matches('[');
                self.is_plain_text(subscript) && (dull || is_number(subscript))
            }
            None => dull && self.is_plain_arithmetic(&element.pieces),
        };
        if !harmless {
            self.opaque(source.slice(element.span), span, Code::Evaluated);
        }
    }

    fn visit_parameter<'a>(&mut self, source: Source<'a, '_>, parameter: &Parameter<'a>) {
        let span = self.span(source, parameter.span);
        self.reveals |= self.is_revealing(parameter);
        if let Some(Subscript::Text(pieces)) = &parameter.subscript {
            self.arithmetic(source, pieces, span);
        }
        match parameter.form {
            Form::Substring => {
                self.may_fail();
                self.arithmetic(source, &parameter.operand, span);
            }
            Form::Assign => {
                self.visit(source, &parameter.operand, span);
                self.may_fail();
                let text = source.slice(parameter.span);
                self.check_value(parameter.name, &Value::Text, span, text);
                self.assign(parameter.name, Value::Text);
            }
            Form::Prompt => self.opaque(source.slice(parameter.span), span, Code::Evaluated),
            Form::Indirect => {
                self.visit(source, &parameter.operand, span);
                self.may_fail();
                if !self.names_a_variable(parameter) {
                    self.opaque(source.slice(parameter.span), span, Code::Evaluated);
                }
            }
            _ => self.visit(source, &parameter.operand, span),
        }
    }

    /// Returns whether the expansion of a parameter contains a secret of the environment.
    fn is_revealing(&self, parameter: &Parameter<'_>) -> bool {
        match (parameter.form, self.lookup_name(parameter.name)) {
            (Form::Length | Form::Names, _) => false,
            (Form::Indirect, Lookup::Known(name)) => self.is_secret(&name),
            _ => self.is_secret(parameter.name),
        }
    }

    /// Returns whether the value of a parameter is a name, and not an array element with a
    /// subscript to expand.
    fn names_a_variable(&self, parameter: &Parameter<'_>) -> bool {
        if parameter.subscript.is_some() {
            return false;
        }
        match self.lookup_name(parameter.name) {
            Lookup::Known(name) => is_name(&name),
            Lookup::Number | Lookup::Environment => true,
            Lookup::Files(_) => false,
            Lookup::Tainted => false,
        }
    }
}

/// Returns whether an element of an array is literal text that cannot contain a command.
fn is_dull(element: &Word<'_>) -> bool {
    let dull = |text: &str| {
        let value = text.split_once("]=").map_or(text, |(_, value)| value);
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
    };
    element.plain().is_some_and(dull)
}
