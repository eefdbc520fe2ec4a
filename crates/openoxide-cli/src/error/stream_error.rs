//! Errors of standard input and output.

use std::io;

use thiserror::Error;

/// The reason that standard input cannot be read or standard output cannot be written.
#[derive(Debug, Error)]
pub(crate) enum StreamError {
    /// Standard input cannot be read.
    #[error("cannot read standard input: {0}")]
    Unreadable(#[source] io::Error),
    /// Standard input is longer than the limit, in bytes.
    #[error("standard input is longer than {0} bytes")]
    TooLong(u64),
    /// An answer cannot be written.
    #[error("the answer cannot be written: {0}")]
    Unwritable(#[source] io::Error),
    /// An answer cannot be written as JSON.
    #[error("the answer cannot be written as JSON: {0}")]
    NotJson(#[from] serde_json::Error),
}

impl StreamError {
    /// Returns whether the system refused; otherwise, the input is wrong.
    pub(super) const fn is_failure(&self) -> bool {
        !matches!(self, Self::TooLong(_))
    }
}
