//! Which operands of `${…}` are relied on.
//!
//! How quotes and backslashes work in there depends on what stands around, and bash's versions differ. What people write is
//! simple: a text, a variable, a substitution, one of them in quotes. The rest is unusual.

use super::tree::{Form, Parameter, Piece};

/// Says whether an operand is of the kinds that people write. `text` is what it was read from, with its operator.
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

/// Says whether nothing else is expanded in a parameter: `$x`, `${#x}`, `${x:-text}`, `${x%.*}`.
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
