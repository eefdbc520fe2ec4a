//! The errors of the engine.

use std::io;

use openoxide_permission::PolicyLimitError;
use thiserror::Error;

/// Why the engine cannot be opened.
#[derive(Debug, Error)]
pub enum OpenError {
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
        /// What is wrong with it.
        message: String,
    },
    /// A rule that was given beside the policy files is not valid.
    #[error("`--{effect} {text}`: {message}{}", help.as_ref().map(|help| format!("; {help}")).unwrap_or_default())]
    InvalidRule {
        /// The effect that the rule was given for.
        effect: &'static str,
        /// The rule as it was given.
        text: String,
        /// What is wrong with it.
        message: String,
        /// How to correct it.
        help: Option<String>,
    },
    /// The policy is larger than can be compiled.
    #[error(transparent)]
    PolicyLimit(#[from] PolicyLimitError),
}

/// The hooks were interrupted before they answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("it was interrupted while hooks were asked")]
pub struct InterruptedError;

/// Why no sandbox profile can be derived from a decision: then nothing may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ProfileError {
    /// The whole file system would be writable.
    #[error("`/` cannot be writable in a sandbox: run it from a project, or with --sandbox off")]
    WritableRoot,
}

/// Why there is no place for the registry of sandboxes.
#[derive(Debug, Error)]
pub enum RegistryError {
    /// The path is not UTF-8.
    #[error("`{0}` is not UTF-8")]
    NotUtf8(String),
    /// The user of this process cannot be determined.
    #[error("`/proc/self`: {0}")]
    UnknownOwner(io::Error),
}
