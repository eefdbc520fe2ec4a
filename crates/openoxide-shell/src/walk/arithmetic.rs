//! What arithmetic runs.
//!
//! Its text is expanded first, and then read; where it names a variable, that variable's value is read in turn, and an
//! array's subscript in there is expanded: `x='a[$(id)]'; echo $((x))` runs `id`. So the text, and the values of the
//! names in it, must be numbers, or come from the environment that the shell was started in. What stands in that
//! environment is not the script's doing, and is trusted here.

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
        if !self.is_plain_arithmetic(pieces) {
            self.opaque(source.slice(span), span, Code::Evaluated);
        }
        self.arithmetic_assignments(pieces);
    }

    /// Walks a word that is read as arithmetic, its substitutions walked before.
    pub(super) fn arithmetic_word(&mut self, source: Source<'_, '_>, word: &Word<'_>) {
        if !self.is_plain_arithmetic(&word.pieces) {
            let span = self.span(source, word.span);
            self.opaque(source.slice(word.span), span, Code::Evaluated);
        }
        self.arithmetic_assignments(&word.pieces);
    }

    /// Says whether nothing but what is visible can run when these pieces are read as arithmetic.
    pub(super) fn is_plain_arithmetic(&self, pieces: &[Piece<'_>]) -> bool {
        pieces.iter().all(|piece| match piece {
            Piece::Fixed(text) => self.is_plain_text(text),
            Piece::Plain(text) => self.is_plain_text(text),
            Piece::Quoted(pieces) | Piece::Arithmetic(pieces) => self.is_plain_arithmetic(pieces),
            Piece::Parameter(parameter) => match self.lookup(parameter) {
                Lookup::Known(text) => self.is_plain_text(&text),
                Lookup::Number | Lookup::Environment => true,
                Lookup::Tainted => false,
            },
            Piece::Command(list) => {
                number::prints_number(list) && !self.seen.defines_any() && !self.known.defines_any()
            }
            _ => false,
        })
    }

    /// Says whether the names in a text of arithmetic have harmless values.
    pub(super) fn is_plain_text(&self, text: &str) -> bool {
        !text.contains(['$', '`', '\\'])
            && names(text)
                .all(|name| self.lookup_name(name) != Lookup::Tainted && self.is_deep(name))
    }

    /// Says whether a known value is itself harmless as arithmetic. One step is enough: a text that the script assigns
    /// and that is no number is tainted.
    fn is_deep(&self, name: &str) -> bool {
        match self.lookup_name(name) {
            Lookup::Known(value) => super::assign::is_number(&value),
            _ => true,
        }
    }

    /// Notes the variables that arithmetic may assign: its results are numbers.
    fn arithmetic_assignments(&mut self, pieces: &[Piece<'_>]) {
        for piece in pieces {
            let text: &str = match piece {
                Piece::Fixed(text) => text,
                Piece::Plain(text) => text,
                _ => continue,
            };
            if text.contains('=') || text.contains("++") || text.contains("--") {
                names(text).for_each(|name| {
                    self.assign(name, Value::Number);
                    self.state.variables.forget(name);
                });
            }
        }
        // `x$i=1` and `++$x` assign to a name that is put together.
        let expands = pieces.iter().any(|piece| !matches!(piece, Piece::Fixed(_)));
        let changes =
            pieces.iter().any(|piece| matches!(piece, Piece::Fixed(text) if is_changing(text)));
        if expands && changes {
            self.state.variables.clear();
        }
    }
}

fn is_changing(text: &str) -> bool {
    text.contains('=') || text.contains("++") || text.contains("--")
}

/// Returns the names in a text of arithmetic.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'))
        .filter(|word| word.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_'))
}
