//! The errors of the engine.

use std::io;

use openoxide_permission::PolicyLimitError;
use thiserror::Error;

/// An error that prevents the engine from being opened.
#[derive(Debug, Error)]
pub enum EngineOpenError {
    /// The working directory cannot be determined.
    #[error("cannot determine the working directory: {0}")]
    UnknownDirectory(io::Error),
    /// A path is not UTF-8.
    #[error("`{0}` is not UTF-8")]
    NotUtf8(String),
    /// A path is not one that can be used.
    #[error("`{path}`: {message}")]
    InvalidPath {
        /// The path as it was given.
        path: String,
        /// A description of the problem.
        message: String,
    },
    /// A rule that does not come from a policy file is not valid.
    #[error("`--{effect} {text}`: {message}")]
    InvalidRule {
        /// The effect that the rule was given for.
        effect: &'static str,
        /// The rule as it was given.
        text: String,
        /// A description of the problem.
        message: String,
        /// A suggestion for a correction.
        help: Option<String>,
    },
    /// The policy is larger than can be compiled.
    #[error(transparent)]
    PolicyLimit(#[from] PolicyLimitError),
}

impl EngineOpenError {
    /// Returns what to do next, if that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        let Self::InvalidRule { help, .. } = self else { return None };
        help.as_deref()
    }
}

/// The hooks were interrupted before they answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted while hooks were running")]
pub struct InterruptedError;

/// An error that prevents a sandbox profile from being derived from a decision. Nothing may be run
/// then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// The whole file system would be writable.
    #[error("`/` cannot be writable in a sandbox")]
    WritableRoot,
    /// The decision requires the sandbox, and the caller does not use it.
    #[error("the command is only allowed in the sandbox")]
    SandboxRequired,
}

impl ProfileError {
    /// Returns what to do next.
    #[must_use]
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::SandboxRequired => "run it without --sandbox off",
            Self::WritableRoot => "run it from a project, or with --sandbox off",
        }
    }
}

/// An error that leaves no location for the registry of sandboxes.
#[derive(Debug, Error)]
pub enum SandboxRegistryError {
    /// The path is not UTF-8.
    #[error("`{0}` is not UTF-8")]
    NotUtf8(String),
    /// The user of this process cannot be determined.
    #[error("`/proc/self`: {0}")]
    UnknownOwner(io::Error),
}
