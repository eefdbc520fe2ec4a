//! The operands of `${…}` that the analysis relies on.
//!
//! The effect of quotes and backslashes in an operand depends on its context and on the version of
//! bash. Common operands are simple: a text, a variable, a substitution, or one of them in quotes.
//! All others are unusual.

use super::syntax_tree::{ExpansionForm, ParameterExpansion, WordPiece};

/// Returns whether an operand has one of the common forms. `text` is its source, with its operator.
pub(super) fn is_common_operand(operand: &[WordPiece<'_>], text: &str) -> bool {
    let fixed =
        operand.iter().all(|piece| matches!(piece, WordPiece::Unquoted(_) | WordPiece::Literal(_)));
    fixed || has_no_escapes(text) && are_common_pieces(operand)
}

fn has_no_escapes(text: &str) -> bool {
    !text.contains(['\\', '\'', '`'])
}

fn are_common_pieces(pieces: &[WordPiece<'_>]) -> bool {
    match pieces {
        [WordPiece::Quoted(inner)] => are_common_pieces(inner),
        [WordPiece::Command(_)] => true,
        pieces => pieces.iter().all(|piece| match piece {
            WordPiece::Unquoted(_) | WordPiece::Literal(_) => true,
            WordPiece::Parameter(parameter) => is_simple_parameter(parameter),
            _ => false,
        }),
    }
}

/// Returns whether a parameter contains no expansions except plain variables: `$x`, `${#x}`,
/// `${x:-text}`, `${x%.*}`.
fn is_simple_parameter(parameter: &ParameterExpansion<'_>) -> bool {
    matches!(
        parameter.form,
        ExpansionForm::Value
            | ExpansionForm::Length
            | ExpansionForm::Other
            | ExpansionForm::Transformation
    ) && parameter.subscript.is_none()
        && parameter.operand.iter().all(|piece| match piece {
            WordPiece::Unquoted(_) | WordPiece::Literal(_) => true,
            WordPiece::Parameter(inner) => {
                inner.form == ExpansionForm::Value
                    && inner.operand.is_empty()
                    && inner.subscript.is_none()
            }
            _ => false,
        })
}
