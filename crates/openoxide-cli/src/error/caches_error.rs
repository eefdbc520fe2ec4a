//! Errors of `sandbox caches`.

use std::{io, path::PathBuf};

use openoxide_engine::SandboxRegistryError;
use openoxide_protocol::AbsPath;
use openoxide_tui::{LineMode, escape_text};
use thiserror::Error;

/// The reason that private changes cannot be shown or deleted.
#[derive(Debug, Error)]
pub(crate) enum CachesError {
    /// The project has none.
    #[error("no private changes of a project at `{}`", escape_text(.0.as_str(), LineMode::SingleLine))]
    NotFound(AbsPath),
    /// Runs use them.
    #[error("a run is using the private changes of {}; they were not deleted", display_paths(.0))]
    InUse(Vec<PathBuf>),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// There is no location for private changes.
    #[error(transparent)]
    Registry(#[from] SandboxRegistryError),
}

impl CachesError {
    /// Returns whether the arguments are right, and the system or a run prevents it.
    pub(super) const fn is_failure(&self) -> bool {
        !matches!(self, Self::NotFound(_))
    }

    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotFound(_) => Some("`openoxide sandbox caches list` shows all projects"),
            Self::InUse(_) | Self::Io(_) | Self::Registry(_) => None,
        }
    }
}

fn display_paths(paths: &[PathBuf]) -> String {
    let name = |path: &PathBuf| {
        format!("`{}`", escape_text(&path.to_string_lossy(), LineMode::SingleLine))
    };
    let names: Vec<_> = paths.iter().map(name).collect();
    names.join(", ")
}
