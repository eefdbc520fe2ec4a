//! Errors of `stage` and `undo`.

use std::io;

use openoxide_engine::SandboxRegistryError;
use openoxide_tui::{LineMode, escape_text};
use thiserror::Error;

/// The reason that staged changes cannot be shown or changed.
#[derive(Debug, Error)]
pub(crate) enum StageError {
    /// No changes have this name.
    #[error("no staged changes `{}`", escape_text(.0, LineMode::SingleLine))]
    NotFound(String),
    /// Several names begin with this text.
    #[error("several staged changes begin with `{}`", escape_text(.0, LineMode::SingleLine))]
    Ambiguous(String),
    /// No checkpoint has this name, or several names begin with it.
    #[error("no checkpoint, or more than one, begins with `{}`", escape_text(.0, LineMode::SingleLine))]
    UnknownCheckpoint(String),
    /// The project has no checkpoint that can be undone.
    #[error("no checkpoint of this project can be undone")]
    NoCheckpoint,
    /// No staged change is at or below the named paths.
    #[error("no staged change is at or below the named paths")]
    NoSuchChange,
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is no location for staged changes.
    #[error(transparent)]
    Registry(#[from] SandboxRegistryError),
}

impl StageError {
    /// Returns whether the arguments are right, and the system refused.
    pub(super) const fn is_failure(&self) -> bool {
        matches!(self, Self::Io(_) | Self::Registry(_))
    }

    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotFound(_) | Self::Ambiguous(_) => Some("`openoxide stage list` shows them all"),
            Self::UnknownCheckpoint(_) | Self::NoCheckpoint => {
                Some("`openoxide undo --list` shows all checkpoints; `run --checkpoint` makes one")
            }
            Self::NoSuchChange => Some("`openoxide stage show ID` lists the changes"),
            Self::Io(_) | Self::Registry(_) => None,
        }
    }
}
