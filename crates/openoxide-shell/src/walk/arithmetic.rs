//! The effects of arithmetic.
//!
//! The text is first expanded and then evaluated. If it names a variable, the value of that
//! variable is evaluated in turn, and an array subscript in it is expanded: `x='a[$(id)]'; echo
//! $((x))` runs `id`. Therefore the text, and the values of the names in it, must be numbers or
//! come from the environment that the shell was started in. The script does not control that
//! environment, so it is trusted here.

use openoxide_protocol::Span;

use super::{Source, Walk, assign::Value, expand::Lookup, number};
use crate::{
    findings::Code,
    syntax::tree::{Piece, Word},
};

impl Walk<'_> {
    /// Walks the text of an arithmetic expression.
    pub(super) fn arithmetic<'a>(
        &mut self,
        source: Source<'a, '_>,
        pieces: &[Piece<'a>],
        span: Span,
    ) {
        self.visit(source, pieces, span);
        let text = self.joined(pieces);
        self.note_secrets(&text);
        if !is_sum(&text) {
            self.may_fail();
        }
        if !self.is_plain_arithmetic(pieces) {
            self.opaque(source.slice(span), span, Code::Evaluated);
        }
        self.arithmetic_assignments(pieces, span);
    }

    /// Walks a word that is read as arithmetic, its substitutions walked before.
    pub(super) fn arithmetic_word(&mut self, source: Source<'_, '_>, word: &Word<'_>) {
        let text = self.joined(&word.pieces);
        self.note_secrets(&text);
        if word.pieces.len() != 1 || !self.is_plain_arithmetic(&word.pieces) {
            let span = self.span(source, word.span);
            self.opaque(source.slice(word.span), span, Code::Evaluated);
        }
        let span = self.span(source, word.span);
        self.arithmetic_assignments(&word.pieces, span);
    }

    /// Notes the secrets among the names in a text of arithmetic: an error shows the value that is not a number.
    pub(super) fn note_secrets(&mut self, text: &str) {
        self.reveals |= names(text).any(|name| self.is_secret(name));
    }

    /// Returns whether only visible commands can run when these pieces are evaluated as arithmetic.
    pub(super) fn is_plain_arithmetic(&self, pieces: &[Piece<'_>]) -> bool {
        let any_text = self.seen.taints_any() || self.known.taints_any();
        // A name can be written in pieces: `HO\ME`.
        let whole = (pieces.len() > 1).then(|| self.joined(pieces));
        if whole
            .is_some_and(|text| any_text && has_partial_names(&text) || !self.is_plain_text(&text))
        {
            return false;
        }
        pieces.iter().all(|piece| match piece {
            Piece::Fixed(text) => self.is_plain_text(text),
            Piece::Plain(text) => self.is_plain_text(text),
            Piece::Quoted(pieces) | Piece::Arithmetic(pieces) => self.is_plain_arithmetic(pieces),
            Piece::Parameter(parameter) => match self.lookup(parameter) {
                Lookup::Known(text) => self.is_plain_text(&text),
                Lookup::Number | Lookup::Environment => true,
                Lookup::Files(_) => false,
                Lookup::Tainted => false,
            },
            Piece::Command(list) => {
                number::prints_number(list) && !self.seen.defines_any() && !self.known.defines_any()
            }
            _ => false,
        })
    }

    /// Returns whether the names in a text of arithmetic have harmless values.
    pub(super) fn is_plain_text(&self, text: &str) -> bool {
        !text.contains(['$', '`', '\\']) && names(text).all(|name| self.is_number_in(name))
    }

    /// Returns whether the value of a variable is harmless in arithmetic: a number, or text that no
    /// script writes. One step is enough, because a text that the script assigns and that is not a
    /// number is tainted.
    fn is_number_in(&self, name: &str) -> bool {
        match self.lookup_name(name) {
            Lookup::Known(value) => super::assign::is_number(&value),
            Lookup::Number | Lookup::Environment => true,
            // File names can hold anything: `a[$(id)]`.
            Lookup::Files(_) | Lookup::Tainted => false,
        }
    }

    /// Notes that the names in a text of arithmetic may be assigned.
    pub(super) fn number_assignments(&mut self, text: &str, span: Span) {
        for name in names(text) {
            self.check_value(name, &Value::Digits, span, text);
            self.assign(name, Value::Digits);
        }
    }

    /// Returns a text of arithmetic without its blanks and quotes, and with gaps where something is expanded that is not known.
    fn joined(&self, pieces: &[Piece<'_>]) -> String {
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Fixed(fixed) => text.push_str(fixed),
                Piece::Plain(plain) => text.push_str(plain),
                Piece::Quoted(pieces) => text.push_str(&self.joined(pieces)),
                Piece::Parameter(parameter) => match self.lookup(parameter) {
                    Lookup::Known(value) => text.push_str(&value),
                    _ => text.push(GAP),
                },
                _ => text.push(GAP),
            }
        }
        text.retain(|letter| !letter.is_ascii_whitespace());
        text
    }

    /// Notes the variables that arithmetic may assign: its results are numbers.
    pub(super) fn arithmetic_assignments(&mut self, pieces: &[Piece<'_>], span: Span) {
        let text = self.joined(pieces);
        if !is_changing(&text) {
            return;
        }
        self.number_assignments(&text, span);
        // `x$i=1` and `++$x` assign to a name that is put together: to any.
        if names_are_made(&text) {
            self.state.variables.clear();
            self.seen.reprogrammed = true;
        }
    }
}

/// The placeholder for an expansion in a text of arithmetic.
const GAP: char = '\0';

/// Returns whether a text of arithmetic assigns: it has `++`, `--`, or a `=` that is not part of a
/// comparison.
pub(super) fn is_changing(text: &str) -> bool {
    let shifts = text.contains("<<=") || text.contains(">>=");
    let compared = ["==", "!=", "<=", ">="]
        .iter()
        .fold(text.to_owned(), |text, operator| text.replace(operator, ""));
    shifts || compared.contains('=') || text.contains("++") || text.contains("--")
}

/// Returns whether a text of arithmetic consists only of numbers and operators that cannot fail.
fn is_sum(text: &str) -> bool {
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
fn names_are_made(text: &str) -> bool {
    has_partial_names(text)
        || text.match_indices(GAP).any(|(at, _)| {
            let (before, after) = text.split_at_checked(at).unwrap_or_default();
            let after = after.trim_start_matches(GAP);
            let operator: String =
                after.chars().take_while(|letter| "+-*/%&|^<>=!".contains(*letter)).collect();
            before.ends_with("++")
                || before.ends_with("--")
                || after.starts_with('[')
                || is_changing(&operator)
        })
}

/// Returns the names in a text of arithmetic.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
}
