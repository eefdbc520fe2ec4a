//! Errors of policy files that arguments name.

use std::{io, path::PathBuf};

use thiserror::Error;

/// The reason that a policy file cannot be used.
#[derive(Debug, Error)]
pub(crate) enum PolicyFileError {
    /// The name of the file does not indicate its format.
    #[error("`{}`: unknown policy format", .0.display())]
    UnknownFormat(PathBuf),
    /// The policy is one of another program.
    #[error("`{}` is a policy of another program", .0.display())]
    NotNative(PathBuf),
    /// The path cannot be made absolute.
    #[error("`{}`: {error}", path.display())]
    NotAbsolute {
        /// The path as it was given.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// No configuration directory is known, so neither is the user's policy file.
    #[error("no configuration directory is known")]
    NoUserPolicy,
}

impl PolicyFileError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnknownFormat(_) => Some("specify it with --format"),
            Self::NoUserPolicy => Some("set HOME or XDG_CONFIG_HOME, or name a file"),
            Self::NotNative(_) => {
                Some("`openoxide rules import` translates it into a native policy")
            }
            Self::NotAbsolute { .. } => None,
        }
    }
}
