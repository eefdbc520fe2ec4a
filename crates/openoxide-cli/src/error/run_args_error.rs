//! The error of `run` when its arguments cannot be used.

use openoxide_protocol::AbsPath;
use thiserror::Error;

/// The reason that the arguments of `run` are wrong.
#[derive(Debug, Error)]
pub(crate) enum RunArgsError {
    /// No command was given.
    #[error("no command given")]
    NoCommand,
    /// An option works only with the usual sandbox.
    #[error("`{0}` requires `--sandbox auto`")]
    RequiresSandbox(&'static str),
    /// The working directory is not a directory.
    #[error("`{0}` is not a directory")]
    NotADirectory(AbsPath),
    /// An added variable would make bash run something other than the checked command.
    #[error("`--env {0}` would make bash run something else")]
    InjectionVariable(String),
}

impl RunArgsError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoCommand => {
                Some("use `openoxide run -c 'SCRIPT'` or `openoxide run -- PROG ARG…`")
            }
            Self::RequiresSandbox(_) | Self::NotADirectory(_) | Self::InjectionVariable(_) => None,
        }
    }
}
