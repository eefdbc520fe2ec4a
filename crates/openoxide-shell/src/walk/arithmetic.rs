//! Arithmetic, and the commands that run when it is evaluated.
//!
//! The text is first expanded and then evaluated. If it names a variable, the value of that
//! variable is evaluated in turn, and an array subscript in it is expanded: `x='a[$(id)]'; echo
//! $((x))` runs `id`. Therefore the text, and the values of the names in it, must be numbers or
//! come from the environment that the shell was started in. The script does not control that
//! environment, so it is trusted here.

use openoxide_protocol::Span;

use super::{
    assignments::AssignedValue,
    environment_variables,
    expanded_word::ParameterValue,
    script_walk::{ScriptWalk, WalkSource},
    state::KnownValue,
    value_text::is_arithmetic_number,
};
use crate::{
    findings::FindingCode,
    syntax::syntax_tree::{ShellWord, WordPiece},
};

impl ScriptWalk<'_> {
    /// Walks the text of an arithmetic expression.
    pub(super) fn walk_arithmetic<'a>(
        &mut self,
        source: WalkSource<'a, '_>,
        pieces: &[WordPiece<'a>],
        span: Span,
    ) {
        self.walk_pieces(source, pieces, span);
        let text = self.join_arithmetic(pieces);
        self.note_secrets(&text);
        if !is_number_expression(&text) {
            self.note_possible_failure();
        }
        if !self.is_plain_arithmetic(pieces) {
            self.add_opaque_access(source.text_at(span), span, FindingCode::EvaluatedText);
        }
        self.note_arithmetic_assignments(pieces, span);
    }

    /// Walks a word that is evaluated as arithmetic. Its substitutions have been walked before.
    pub(super) fn walk_arithmetic_word(
        &mut self,
        source: WalkSource<'_, '_>,
        word: &ShellWord<'_>,
    ) {
        let text = self.join_arithmetic(&word.pieces);
        self.note_secrets(&text);
        if word.pieces.len() != 1 || !self.is_plain_arithmetic(&word.pieces) {
            let span = self.outer_span(source, word.span);
            self.add_opaque_access(source.text_at(word.span), span, FindingCode::EvaluatedText);
        }
        let span = self.outer_span(source, word.span);
        self.note_arithmetic_assignments(&word.pieces, span);
    }

    /// Records whether a text of arithmetic names secrets. An error message shows a value that is
    /// not a number.
    pub(super) fn note_secrets(&mut self, text: &str) {
        self.reveals |= arithmetic_names(text).any(|name| self.is_secret(name));
    }

    /// Returns whether only visible commands can run when these pieces are evaluated as arithmetic.
    pub(super) fn is_plain_arithmetic(&self, pieces: &[WordPiece<'_>]) -> bool {
        let any_text = self.has_tainted_variable();
        // A name can be written in pieces: `HO\ME`.
        let whole = (pieces.len() > 1).then(|| self.join_arithmetic(pieces));
        if whole.is_some_and(|text| {
            any_text && has_partial_names(&text) || !self.is_plain_arithmetic_text(&text)
        }) {
            return false;
        }
        pieces.iter().all(|piece| match piece {
            WordPiece::Literal(text) => self.is_plain_arithmetic_text(text),
            WordPiece::Unquoted(text) => self.is_plain_arithmetic_text(text),
            WordPiece::Quoted(pieces) | WordPiece::Arithmetic(pieces) => {
                self.is_plain_arithmetic(pieces)
            }
            WordPiece::Parameter(parameter) => match self.lookup_parameter(parameter) {
                ParameterValue::Known(text) => self.is_plain_arithmetic_text(&text),
                ParameterValue::Number => true,
                ParameterValue::Environment => self.is_plain_environment(parameter.name),
                ParameterValue::Files(_) => false,
                ParameterValue::Tainted => false,
            },
            WordPiece::Command(list) => self.prints_number(list),
            _ => false,
        })
    }

    /// Returns whether the names in a text of arithmetic have harmless values.
    pub(super) fn is_plain_arithmetic_text(&self, text: &str) -> bool {
        !text.contains(['$', '`', '\\'])
            && arithmetic_names(text).all(|name| self.is_number_in(name))
    }

    /// Returns whether the value of a variable is harmless in arithmetic: a number, or text that no
    /// script writes. One step is enough, because a text that the script assigns and that is not a
    /// number is tainted.
    fn is_number_in(&self, name: &str) -> bool {
        match self.lookup_variable(name) {
            ParameterValue::Known(value) => is_arithmetic_number(&value),
            ParameterValue::Number => true,
            ParameterValue::Environment => self.is_plain_environment(name),
            // File names can contain anything: `a[$(id)]`.
            ParameterValue::Files(_) | ParameterValue::Tainted => false,
        }
    }

    /// Returns whether the value of a variable that the script does not write as text is harmless
    /// in arithmetic. A text of the environment (`USER=root`) is evaluated, too: the names in it
    /// may be those of variables to which the script assigns text.
    fn is_plain_environment(&self, name: &str) -> bool {
        self.state.variables.get(name).is_some_and(KnownValue::is_numeric)
            || !environment_variables::may_be_inherited(name)
            || !self.has_tainted_variable()
    }

    /// Returns whether the script may assign text that is dangerous in arithmetic to a variable.
    pub(super) fn has_tainted_variable(&self) -> bool {
        self.current_scan.has_tainted_variable() || self.previous_scan.has_tainted_variable()
    }

    /// Records that the names in a text of arithmetic may be assigned.
    pub(super) fn note_number_assignments(&mut self, text: &str, span: Span) {
        for name in arithmetic_names(text) {
            self.check_special_variable(name, &AssignedValue::PossibleDigits, span, text);
            self.note_assignment(name, AssignedValue::PossibleDigits);
        }
    }

    /// Returns a text of arithmetic without its blanks and quotes. Unknown expansions become gaps.
    fn join_arithmetic(&self, pieces: &[WordPiece<'_>]) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                WordPiece::Literal(fixed) => text.push_str(fixed),
                WordPiece::Unquoted(plain) => text.push_str(plain),
                WordPiece::Quoted(pieces) => text.push_str(&self.join_arithmetic(pieces)),
                WordPiece::Parameter(parameter) => match self.lookup_parameter(parameter) {
                    ParameterValue::Known(value) => text.push_str(&value),
                    _ => text.push(GAP),
                },
                _ => text.push(GAP),
            }
        }
        text.retain(|letter| !letter.is_ascii_whitespace());
        text
    }

    /// Records the variables that arithmetic may assign. Its results are numbers.
    pub(super) fn note_arithmetic_assignments(&mut self, pieces: &[WordPiece<'_>], span: Span) {
        let text = self.join_arithmetic(pieces);
        if !assigns_variable(&text) {
            return;
        }
        self.current_scan.has_arrays |= text.contains('[');
        self.note_number_assignments(&text, span);
        // `x$i=1` and `++$x` assign to a computed name, which can be any variable.
        if may_expand_to_names(&text) {
            self.state.variables.clear();
            self.current_scan.changes_programs = true;
        }
    }
}

/// The placeholder for an expansion in a text of arithmetic.
const GAP: char = '\0';

/// Returns whether a text of arithmetic contains an assignment: `++`, `--`, or a `=` that is not
/// part of a comparison.
pub(super) fn assigns_variable(text: &str) -> bool {
    let shifts = text.contains("<<=") || text.contains(">>=");
    let compared = ["==", "!=", "<=", ">="]
        .iter()
        .fold(text.to_owned(), |text, operator| text.replace(operator, ""));
    shifts || compared.contains('=') || text.contains("++") || text.contains("--")
}

/// Returns whether a text of arithmetic consists only of numbers and operators that cannot fail.
fn is_number_expression(text: &str) -> bool {
    text.split(['+', '*']).all(|number| {
        let digits = number.bytes().all(|byte| byte.is_ascii_digit());
        digits
            && !number.is_empty()
            && number.len() < 18
            && (number == "0" || !number.starts_with('0'))
    })
}

/// Returns whether an expansion may be a part of a name.
fn has_partial_names(text: &str) -> bool {
    let in_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.match_indices(GAP).any(|(at, _)| {
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        before.ends_with(in_name) || after.trim_start_matches(GAP).starts_with(in_name)
    })
}

/// Returns whether an expansion may be a name that is assigned, or a part of one.
fn may_expand_to_names(text: &str) -> bool {
    has_partial_names(text)
        || text.match_indices(GAP).any(|(at, _)| {
            let (before, after) = text.split_at_checked(at).unwrap_or_default();
            let after = after.trim_start_matches(GAP);
            let operator: String =
                after.chars().take_while(|letter| "+-*/%&|^<>=!".contains(*letter)).collect();
            before.ends_with("++")
                || before.ends_with("--")
                || after.starts_with('[')
                || assigns_variable(&operator)
        })
}

/// Returns the names in a text of arithmetic.
fn arithmetic_names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
}
