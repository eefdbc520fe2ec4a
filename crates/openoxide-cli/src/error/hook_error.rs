//! Errors of `hook`.

use std::io;

use openoxide_adapters::agent_hook::PayloadError;
use thiserror::Error;

/// The reason that the arguments of `hook` are wrong.
#[derive(Debug, Error)]
pub(crate) enum HookArgsError {
    /// No hook of this agent can be answered.
    #[error("unknown agent `{0}`")]
    UnknownAgent(String),
    /// Only Codex has hooks that it does not trust.
    #[error("`--untrusted` is an option of `hook codex`")]
    UntrustedNotCodex,
}

impl HookArgsError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::UnknownAgent(_) => Some("the hooks of `claude` and `codex` can be answered"),
            Self::UntrustedNotCodex => None,
        }
    }
}

/// The reason that the payload of a hook cannot be used.
#[derive(Debug, Error)]
pub(crate) enum HookPayloadError {
    /// Standard input cannot be read.
    #[error("the payload cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The payload is longer than the limit.
    #[error("the payload is too long")]
    TooLong,
    /// The payload is not what the agent sends.
    #[error(transparent)]
    Invalid(#[from] PayloadError),
}
