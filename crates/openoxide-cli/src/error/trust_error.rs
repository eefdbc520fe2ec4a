//! Errors of `trust`.

use std::{io, path::PathBuf};

use openoxide_tui::{AskError, LineMode, escape_text};
use thiserror::Error;

/// The reason that a project cannot be trusted, or that trust cannot be revoked.
#[derive(Debug, Error)]
pub(crate) enum TrustCommandError {
    /// Nothing is at the path.
    #[error("no such file or directory: {}", escape_text(&.0.to_string_lossy(), LineMode::SingleLine))]
    NotFound(PathBuf),
    /// The path is a pipe, a device or a socket.
    #[error("neither a directory nor a file: {}", escape_text(&.0.to_string_lossy(), LineMode::SingleLine))]
    UnsupportedFile(PathBuf),
    /// The path cannot be read.
    #[error("{}: {error}", escape_text(&path.to_string_lossy(), LineMode::SingleLine))]
    Unreadable {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// The person cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The answer cannot be saved.
    #[error("cannot save the answer: {0}")]
    NotSaved(#[source] io::Error),
    /// Trust cannot be revoked.
    #[error("cannot revoke trust: {0}")]
    NotRevoked(#[source] io::Error),
}

impl TrustCommandError {
    /// Returns whether the arguments are right, and the system refused.
    pub(super) const fn is_failure(&self) -> bool {
        matches!(self, Self::Ask(_) | Self::NotSaved(_) | Self::NotRevoked(_))
    }
}
