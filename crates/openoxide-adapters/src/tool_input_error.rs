//! Errors in the input of a tool call.

use thiserror::Error;

/// The reason for which the input of a call does not fit its tool.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ToolInputError {
    /// A string is missing. Contains its key.
    #[error("the input has no string `{0}`")]
    MissingText(String),
    /// The input of `apply_patch` is not a patch.
    #[error("the input of `apply_patch` is not a patch")]
    NotPatch,
    /// The script is too long for the parser.
    #[error("the command is too long")]
    ScriptTooLong,
}
