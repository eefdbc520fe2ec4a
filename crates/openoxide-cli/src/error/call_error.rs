//! Errors of calls that are named on the command line or on a line of input.

use openoxide_adapters::tool_input_error::ToolInputError;
use openoxide_protocol::PathError;
use thiserror::Error;

/// The reason that the arguments name no call.
#[derive(Debug, Error)]
pub(crate) enum CallArgsError {
    /// Neither a script nor a tool is given, or both are.
    #[error("no call given")]
    NoCall,
    /// The input of the tool is not JSON.
    #[error("--input is not valid JSON: {0}")]
    InvalidInput(#[source] serde_json::Error),
}

impl CallArgsError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoCall => Some("use -c SCRIPT, or --tool NAME --input JSON"),
            Self::InvalidInput(_) => None,
        }
    }
}

/// The reason that a line of input is not a JSON object of the expected shape.
#[derive(Debug, Error)]
pub(crate) enum LineError {
    /// The line is longer than the limit, in bytes.
    #[error("the line is longer than {0} bytes")]
    TooLong(u64),
    /// The line is not an object.
    #[error("expected one JSON object per line")]
    NotObject,
    /// The line is not JSON, or has another shape.
    #[error("the line was not understood: {0}")]
    InvalidJson(#[source] serde_json::Error),
}

/// The reason that a line of a batch has no decision.
#[derive(Debug, Error)]
pub(crate) enum RowError {
    /// The line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The line is neither a tool call nor a question.
    #[error("expected `tool` and `input`, or `permission` and `patterns`")]
    InvalidShape,
    /// The line is a question without a pattern.
    #[error("`patterns` is empty")]
    NoPatterns,
    /// The working directory is not an absolute path.
    #[error("`cwd`: {0}")]
    InvalidDirectory(#[source] PathError),
    /// The input does not fit the tool.
    #[error(transparent)]
    ToolInput(#[from] ToolInputError),
    /// The managed policy has errors, so nothing is decided; the description of the errors.
    #[error("{0}")]
    ManagedPolicy(String),
}
