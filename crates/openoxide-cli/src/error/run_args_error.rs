//! The error of `run` when its arguments cannot be used.

use openoxide_protocol::AbsPath;
use thiserror::Error;

use crate::confined_launch::PublishedTwiceError;

/// The reason that the arguments of `run` are wrong.
#[derive(Debug, Error)]
pub(crate) enum RunArgsError {
    /// No command was given.
    #[error("no command given")]
    NoCommand,
    /// An option works only with the usual sandbox.
    #[error("`{0}` requires `--sandbox auto`")]
    RequiresSandbox(&'static str),
    /// Without a sandbox, ports need not be published.
    #[error("`--publish` requires the sandbox: without it, the program listens on this machine")]
    PublishWithoutSandbox,
    /// The policy forbids to publish ports.
    #[error("the policy forbids to publish ports (`publish = \"off\"`)")]
    PublishForbidden,
    /// Two ports would be published at the same port of the host.
    #[error(transparent)]
    PublishedTwice(#[from] PublishedTwiceError),
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
            Self::RequiresSandbox(_)
            | Self::PublishWithoutSandbox
            | Self::PublishForbidden
            | Self::PublishedTwice(_)
            | Self::NotADirectory(_)
            | Self::InjectionVariable(_) => None,
        }
    }
}
