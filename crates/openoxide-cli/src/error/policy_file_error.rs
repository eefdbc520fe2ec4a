//! Errors of policy files that arguments name.

use std::path::PathBuf;

use thiserror::Error;

/// The reason that a policy file cannot be used.
#[derive(Debug, Error)]
pub(crate) enum PolicyFileError {
    /// The policy is one of another program.
    #[error("`{}` is a policy of another program", .0.display())]
    NotNative(PathBuf),
    /// No configuration directory is known, so neither is the user's policy file.
    #[error("no configuration directory is known")]
    NoUserPolicy,
}

impl PolicyFileError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoUserPolicy => Some("set HOME or XDG_CONFIG_HOME, or name a file"),
            Self::NotNative(_) => {
                Some("`openoxide rules import` translates it into a native policy")
            }
        }
    }
}
