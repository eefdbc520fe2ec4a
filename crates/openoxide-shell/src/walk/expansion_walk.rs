//! The commands that run during the expansion of a word.

use openoxide_protocol::Span;

use super::{
    arithmetic::assigns_variable,
    assignments::AssignedValue,
    expanded_word::ParameterValue,
    script_walk::{ScriptWalk, WalkSource},
    value_text::is_arithmetic_number,
};
use crate::{
    findings::FindingCode,
    syntax::{
        is_name,
        syntax_tree::{
            ArraySubscript, CommandList, ExpansionForm, ParameterExpansion, ShellCommand,
            ShellWord, WordPiece,
        },
    },
};

impl ScriptWalk<'_> {
    /// Walks the commands that run during the expansion of `word`.
    pub(super) fn walk_word<'a>(&mut self, source: WalkSource<'a, '_>, word: &ShellWord<'a>) {
        self.note_differences(&word.pieces, false);
        if word.as_plain_text().is_none() {
            let span = self.outer_span(source, word.span);
            self.walk_pieces(source, &word.pieces, span);
        }
    }

    /// Walks the commands that run during the expansion of these pieces.
    pub(super) fn walk_pieces<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        pieces: &[WordPiece<'a>],
        span: Span,
    ) {
        for piece in pieces {
            match piece {
                WordPiece::Unquoted(_) | WordPiece::Literal(_) => {}
                WordPiece::Quoted(pieces) | WordPiece::Translated(pieces) => {
                    self.walk_pieces(source, pieces, span);
                }
                WordPiece::Parameter(parameter) => self.walk_parameter(source, parameter),
                WordPiece::Command(list) => {
                    self.mark_stdin_shared();
                    self.walk_substitution(source, list, false);
                }
                WordPiece::Process(list) => {
                    // It reads the output of the command, or the pipe, concurrently with all the
                    // others.
                    self.current_scan.has_partial_reads |= self.stdin.is_some();
                    self.mark_stdin_shared();
                    self.walk_with_other_stdin(|walk| walk.walk_substitution(source, list, true));
                }
                WordPiece::Backquote(text, inner) => {
                    let inner = self.outer_span(source, *inner);
                    self.mark_stdin_shared();
                    self.walk_in_subprocess(|walk| {
                        walk.walk_script(text, inner);
                    });
                }
                WordPiece::Arithmetic(pieces) => self.walk_arithmetic(source, pieces, span),
                WordPiece::Array(elements) => self.walk_array_elements(source, elements),
            }
        }
    }

    fn walk_substitution<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        list: &CommandList<'a>,
        piped: bool,
    ) {
        let was = std::mem::replace(&mut self.reads_pipe, piped);
        self.printed_files = None;
        self.walk_in_subprocess(|walk| {
            walk.walk_list(source, list);
        });
        self.reads_pipe = was;
        self.note_substitution_output(list);
    }

    /// Records which files the output of a substitution names, if known. The output must come from
    /// one pipeline.
    fn note_substitution_output(&mut self, list: &CommandList<'_>) {
        let place = std::ptr::from_ref(list).addr();
        self.substitution_outputs.retain(|(at, _)| *at != place);
        let [item] = list.as_slice() else { return };
        let simple = |command: &ShellCommand<'_>| matches!(command, ShellCommand::Simple(_));
        let one =
            !item.is_background && item.rest.is_empty() && item.first.commands.iter().all(simple);
        if let (true, Some(paths)) = (one, self.printed_files.take()) {
            self.substitution_outputs.push((place, paths));
        }
    }

    fn walk_array_elements<'a>(&mut self, source: WalkSource<'a, '_>, elements: &[ShellWord<'a>]) {
        // The elements are assigned one by one. A subscript may read and evaluate earlier elements.
        let dull = !self.has_tainted_variable() && elements.iter().all(is_literal_element);
        for element in elements {
            self.walk_word(source, element);
            if let Some(WordPiece::Unquoted(text)) = element.pieces.first()
                && text.starts_with('[')
            {
                self.walk_element_subscript(source, element, dull);
            }
        }
    }

    /// Walks `[subscript]=value` in an array. The subscript is arithmetic, and its end is not
    /// determined exactly.
    fn walk_element_subscript(
        &mut self,
        source: WalkSource<'_, '_>,
        element: &ShellWord<'_>,
        dull: bool,
    ) {
        self.note_possible_failure();
        let plain = match element.pieces.first() {
            Some(WordPiece::Unquoted(text)) => text.split_once(']').map(|(subscript, _)| subscript),
            _ => None,
        };
        let span = self.outer_span(source, element.span);
        match plain {
            Some(subscript) if assigns_variable(subscript) => {
                self.note_number_assignments(subscript, span);
            }
            Some(_) => {}
            None => self.note_arithmetic_assignments(&element.pieces, span),
        }
        let harmless = match plain {
            Some(subscript) => {
                let subscript = subscript.trim_start_matches('[');
                self.is_plain_arithmetic_text(subscript)
                    && (dull || is_arithmetic_number(subscript))
            }
            None => dull && self.is_plain_arithmetic(&element.pieces),
        };
        if !harmless {
            self.add_opaque_access(source.text_at(element.span), span, FindingCode::EvaluatedText);
        }
    }

    fn walk_parameter<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        parameter: &ParameterExpansion<'a>,
    ) {
        let span = self.outer_span(source, parameter.span);
        self.reveals |= self.is_revealing(parameter);
        if let Some(ArraySubscript::Text(pieces)) = &parameter.subscript {
            self.walk_arithmetic(source, pieces, span);
        }
        match parameter.form {
            ExpansionForm::Substring => {
                self.note_possible_failure();
                self.walk_arithmetic(source, &parameter.operand, span);
            }
            ExpansionForm::Assign => {
                self.walk_pieces(source, &parameter.operand, span);
                self.note_possible_failure();
                let text = source.text_at(parameter.span);
                self.current_scan.has_arrays |= parameter.subscript.is_some();
                self.check_special_variable(parameter.name, &AssignedValue::Text, span, text);
                self.note_assignment(parameter.name, AssignedValue::Text);
            }
            ExpansionForm::Prompt => self.add_opaque_access(
                source.text_at(parameter.span),
                span,
                FindingCode::EvaluatedText,
            ),
            ExpansionForm::Indirect => {
                self.walk_pieces(source, &parameter.operand, span);
                self.note_possible_failure();
                if !self.is_variable_name_value(parameter) {
                    self.add_opaque_access(
                        source.text_at(parameter.span),
                        span,
                        FindingCode::EvaluatedText,
                    );
                }
            }
            _ => self.walk_pieces(source, &parameter.operand, span),
        }
    }

    /// Returns whether the expansion of a parameter contains a secret of the environment.
    fn is_revealing(&self, parameter: &ParameterExpansion<'_>) -> bool {
        match (parameter.form, self.lookup_variable(parameter.name)) {
            (ExpansionForm::Length | ExpansionForm::Names, _) => false,
            (ExpansionForm::Indirect, ParameterValue::Known(name)) => self.is_secret(&name),
            _ => self.is_secret(parameter.name),
        }
    }

    /// Returns whether the value of a parameter is a name, and not an array element with a
    /// subscript to expand.
    fn is_variable_name_value(&self, parameter: &ParameterExpansion<'_>) -> bool {
        if parameter.subscript.is_some() {
            return false;
        }
        match self.lookup_variable(parameter.name) {
            ParameterValue::Known(name) => is_name(&name),
            ParameterValue::Number | ParameterValue::Environment => true,
            ParameterValue::Files(_) => false,
            ParameterValue::Tainted => false,
        }
    }
}

/// Returns whether an element of an array is literal text that cannot contain a command.
fn is_literal_element(element: &ShellWord<'_>) -> bool {
    let dull = |text: &str| {
        let value = text.split_once("]=").map_or(text, |(_, value)| value);
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./-".contains(&byte))
    };
    element.as_plain_text().is_some_and(dull)
}
