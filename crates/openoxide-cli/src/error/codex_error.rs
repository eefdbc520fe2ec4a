//! Errors of the `codex` commands.

use std::{
    io,
    path::{Path, PathBuf},
};

use openoxide_codex::exact_semantics::{EmptyPrefixError, RequirementsError, RuleFileError};
use thiserror::Error;

use super::{call_error::LineError, stream_error::StreamError};

/// The reason that Codex's policy cannot be read, with the messages of Codex.
#[derive(Debug, Error)]
pub(crate) enum CodexPolicyError {
    /// The working directory cannot be determined.
    #[error("{0}")]
    UnknownDirectory(#[source] io::Error),
    /// A file cannot be read.
    #[error("{}", file_message("read", path, error))]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
    /// A rule file has an error.
    #[error("{}", file_message("parse", path, error))]
    InvalidRules {
        /// The path of the file.
        path: PathBuf,
        /// The error in the file.
        #[source]
        error: RuleFileError,
    },
    /// The managed requirements have an error.
    #[error(transparent)]
    Requirements(#[from] RequirementsError),
    /// The answer cannot be written.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// Returns an error message in the format of Codex. Each line of the cause is indented, including
/// an empty last one.
fn file_message(action: &str, path: &Path, cause: &dyn std::error::Error) -> String {
    let cause = cause.to_string().replace('\n', "\n    ");
    format!("failed to {action} policy at {}\n\nCaused by:\n    {cause}", path.display())
}

/// The reason that a line of `codex decide` has no answer.
#[derive(Debug, Error)]
pub(crate) enum CodexRowError {
    /// The line cannot be read.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The line has a command and a patch.
    #[error("expected either `cmd` or `patch`, not both")]
    TwoCalls,
    /// The line has neither a command nor a patch.
    #[error("missing field `cmd` or `patch`")]
    NoCall,
}

/// The reason that no rule is added to Codex's rule file.
#[derive(Debug, Error)]
pub(crate) enum CodexAmendError {
    /// The words would allow any program; these words.
    #[error("`{0}` would let any program run")]
    AllowsAnything(String),
    /// There are no words.
    #[error(transparent)]
    EmptyPrefix(#[from] EmptyPrefixError),
    /// Codex's home directory is unknown.
    #[error("no configuration directory of Codex is known")]
    NoHome,
    /// The rule cannot be written.
    #[error("cannot add the rule to {}: {error}", path.display())]
    NotWritten {
        /// The path of the rule file.
        path: PathBuf,
        /// The error of the system.
        #[source]
        error: io::Error,
    },
}

impl CodexAmendError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::AllowsAnything(_) => Some("name more of the words of the command"),
            Self::NoHome => Some("set HOME or CODEX_HOME"),
            Self::EmptyPrefix(_) | Self::NotWritten { .. } => None,
        }
    }
}

/// The socket of Codex's app server is not known.
#[derive(Debug, Error)]
#[error("the socket of the app server is not known: no home directory is set")]
pub(crate) struct NoSocketError;

impl NoSocketError {
    /// Returns what to do next.
    pub(super) const HINT: &'static str = "name the socket with `--socket`";
}
