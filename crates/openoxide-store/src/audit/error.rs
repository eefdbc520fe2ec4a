//! Errors of writing and reading the audit journal.

use std::{io, path::PathBuf};

/// An error of writing or reading the audit journal. It does not affect decisions.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is no directory for the journal.
    #[error("neither XDG_STATE_HOME nor HOME names a directory for the audit journal")]
    NoStateDirectory,
    /// Another user could have written the path, or it is corrupt or of the wrong type.
    #[error("`{path}` {why}")]
    Unsafe {
        /// The file or directory.
        path: PathBuf,
        /// The problem.
        why: &'static str,
    },
    /// Another process held the lock of the journal for too long.
    #[error("another process has locked the audit journal")]
    Busy,
    /// The journal was written by a newer version of this program.
    #[error("a newer version of openoxide has written the audit journal (schema {0})")]
    Newer(u64),
    /// The record cannot be converted to JSON.
    #[error("the record cannot be written as JSON: {0}")]
    InvalidJson(#[from] serde_json::Error),
    /// The operating system reported an error.
    #[error("the audit journal {what}: {source}")]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl AuditError {
    /// Returns a function that converts an error of the operating system during this operation.
    pub(crate) const fn io_error(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
