//! The operands of `${…}` that the analysis relies on.
//!
//! The effect of quotes and backslashes in an operand depends on its context and on the version of
//! bash. Common operands are simple: a text, a variable, a substitution, or one of them in quotes.
//! All others are unusual.

use super::tree::{Form, Parameter, Piece};

/// Returns whether an operand has one of the common forms. `text` is its source, with its operator.
pub(super) fn is_common(operand: &[Piece<'_>], text: &str) -> bool {
    let fixed = operand.iter().all(|piece| matches!(piece, Piece::Plain(_) | Piece::Fixed(_)));
    fixed || is_without_escapes(text) && are_common(operand)
}

fn is_without_escapes(text: &str) -> bool {
    !text.contains(['\\', '\'', '`'])
}

fn are_common(pieces: &[Piece<'_>]) -> bool {
    match pieces {
        [Piece::Quoted(inner)] => are_common(inner),
        [Piece::Command(_)] => true,
        pieces => pieces.iter().all(|piece| match piece {
            Piece::Plain(_) | Piece::Fixed(_) => true,
            Piece::Parameter(parameter) => is_simple(parameter),
            _ => false,
        }),
    }
}

/// Returns whether a parameter contains no expansions except plain variables: `$x`, `${#x}`,
/// `${x:-text}`, `${x%.*}`.
fn is_simple(parameter: &Parameter<'_>) -> bool {
    matches!(parameter.form, Form::Value | Form::Length | Form::Other)
        && parameter.subscript.is_none()
        && parameter.operand.iter().all(|piece| match piece {
            Piece::Plain(_) | Piece::Fixed(_) => true,
            Piece::Parameter(inner) => {
                inner.form == Form::Value && inner.operand.is_empty() && inner.subscript.is_none()
            }
            _ => false,
        })
}
