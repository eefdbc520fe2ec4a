//! Errors of writing and reading the audit journal.

use std::{io, path::PathBuf};

/// An error of writing or reading the audit journal. It does not influence decisions.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// There is no directory for the journal.
    #[error("neither XDG_STATE_HOME nor HOME names a directory for the audit journal")]
    NoStateDirectory,
    /// Others could have written it, or it is not what it should be.
    #[error("`{path}` {why}")]
    Unsafe {
        /// The file or directory.
        path: PathBuf,
        /// The problem.
        why: &'static str,
    },
    /// Another process holds the journal, and did not let go of it in time.
    #[error("another process has locked the audit journal")]
    Busy,
    /// A newer version of this program has written it.
    #[error("a newer version of openoxide has written the audit journal (schema {0})")]
    Newer(u64),
    /// The record cannot be put into JSON.
    #[error("the record cannot be written as JSON: {0}")]
    InvalidJson(#[from] serde_json::Error),
    /// The system refused.
    #[error("the audit journal {what}: {source}")]
    Io {
        /// The operation that failed.
        what: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl AuditError {
    /// Returns what makes the error of an operation out of the system's.
    pub(crate) const fn io_error(what: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { what, source }
    }
}
