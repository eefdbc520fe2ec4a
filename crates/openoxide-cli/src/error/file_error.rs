//! Errors of files that commands read and change.

use std::{io, path::PathBuf};

use openoxide_adapters::wiring::WiringError;
use openoxide_codex::wiring::TrustError;
use openoxide_store::{FileReadError, policy_edit::PolicyEditError};
use thiserror::Error;

/// A file that cannot be read or changed.
#[derive(Debug, Error)]
#[error("{}: {problem}", path.display())]
pub(crate) struct FileError {
    path: PathBuf,
    #[source]
    problem: FileProblem,
}

/// The reason that a file cannot be read or changed.
#[derive(Debug, Error)]
pub(crate) enum FileProblem {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] FileReadError),
    /// The file cannot be written.
    #[error("{0}")]
    Unwritable(#[source] io::Error),
    /// The text of a policy cannot be changed.
    #[error(transparent)]
    Policy(#[from] PolicyEditError),
    /// The layout of `rules fmt` would decide something else.
    #[error("not reformatted: the new layout would change its meaning")]
    LayoutChangesMeaning,
    /// The hook cannot be installed into the settings.
    #[error(transparent)]
    Settings(#[from] WiringError),
    /// Codex's settings cannot be changed so that the hook is trusted.
    #[error(transparent)]
    CodexTrust(#[from] TrustError),
    /// A path in a project is a symbolic link.
    #[error("symbolic links in a project are not followed")]
    SymbolicLink,
    /// The file has changed while a person was asked about its change.
    #[error("the file has changed in the meantime; nothing was written")]
    ChangedMeanwhile,
    /// A new file would replace one that exists.
    #[error("the file exists; nothing was written")]
    Exists,
    /// The order of rules decides, so the rules of two files cannot be merged.
    #[error("the order of rules decides in one of the files, so they cannot be merged")]
    OrderedRules,
}

impl FileError {
    /// Returns the error of the file at `path`.
    pub(crate) fn new(path: impl Into<PathBuf>, problem: impl Into<FileProblem>) -> Self {
        Self { path: path.into(), problem: problem.into() }
    }

    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self.problem {
            FileProblem::OrderedRules => Some("print the rules without --write"),
            FileProblem::Exists => Some(
                "`openoxide rules starter --dry-run` prints the rules, so that you can copy them",
            ),
            _ => None,
        }
    }

    /// Returns whether the arguments are right, and the system refused.
    pub(super) const fn is_failure(&self) -> bool {
        matches!(
            self.problem,
            FileProblem::Unwritable(_) | FileProblem::ChangedMeanwhile | FileProblem::Exists
        )
    }
}
