//! Errors of commands, and their exit codes.

use openoxide_engine::{EngineOpenError, ProfileError};
use openoxide_store::audit::AuditError;
use thiserror::Error;

use crate::{
    commands::{run::run_args_error::RunArgsError, sandbox::sandbox_run_error::SandboxRunError},
    program_exit::ProgramExit,
};

/// The reason that a command cannot be carried out.
#[derive(Debug, Error)]
pub(crate) enum CliError {
    /// The engine cannot be opened with these arguments.
    #[error(transparent)]
    Open(#[from] EngineOpenError),
    /// No sandbox profile can be derived.
    #[error(transparent)]
    Profile(#[from] ProfileError),
    /// The journal cannot be read.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The arguments of `run` are wrong.
    #[error(transparent)]
    Run(#[from] RunArgsError),
    /// No sandbox can be made from the arguments of `sandbox run`.
    #[error(transparent)]
    SandboxRun(#[from] SandboxRunError),
    /// The arguments, or what they name, are wrong.
    #[error("{0}")]
    Usage(String),
}

impl CliError {
    /// Returns the exit code.
    pub(crate) const fn exit_code(&self) -> ProgramExit {
        match self {
            Self::Open(_)
            | Self::Profile(_)
            | Self::Audit(_)
            | Self::Run(_)
            | Self::SandboxRun(_)
            | Self::Usage(_) => ProgramExit::Usage,
        }
    }
}

impl From<String> for CliError {
    fn from(message: String) -> Self {
        Self::Usage(message)
    }
}

impl From<&str> for CliError {
    fn from(message: &str) -> Self {
        Self::Usage(message.to_owned())
    }
}
