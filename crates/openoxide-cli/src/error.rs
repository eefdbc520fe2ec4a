//! Errors of commands, with what to do next, and their exit codes.

pub(crate) mod caches_error;
pub(crate) mod call_error;
pub(crate) mod codex_error;
pub(crate) mod exact_policy_error;
pub(crate) mod file_error;
pub(crate) mod grant_args_error;
pub(crate) mod hook_error;
pub(crate) mod init_error;
pub(crate) mod policy_file_error;
pub(crate) mod rules_error;
pub(crate) mod run_args_error;
pub(crate) mod sandbox_run_error;
pub(crate) mod stage_error;
pub(crate) mod stream_error;
pub(crate) mod trust_error;
pub(crate) mod value_error;

use openoxide_engine::{EngineOpenError, ProfileError};
use openoxide_store::{FileLockError, GrantFileError, audit::AuditError};
use thiserror::Error;

use crate::program_exit::ProgramExit;
use caches_error::CachesError;
use call_error::{CallArgsError, RowError};
use codex_error::{CodexAmendError, NoSocketError};
use exact_policy_error::ExactPolicyError;
use file_error::FileError;
use grant_args_error::GrantArgsError;
use hook_error::HookArgsError;
use init_error::InitError;
use openoxide_formats::NamedPolicyError;
use policy_file_error::PolicyFileError;
use rules_error::RulesError;
use run_args_error::RunArgsError;
use sandbox_run_error::SandboxRunError;
use stage_error::StageError;
use stream_error::StreamError;
use trust_error::TrustCommandError;

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
    /// The arguments name no call.
    #[error(transparent)]
    Call(#[from] CallArgsError),
    /// A call cannot be evaluated.
    #[error(transparent)]
    Row(#[from] RowError),
    /// A policy cannot be evaluated as its own program would do it.
    #[error(transparent)]
    Exact(#[from] ExactPolicyError),
    /// No rule can be added to Codex's rule file.
    #[error(transparent)]
    CodexAmend(#[from] CodexAmendError),
    /// The socket of Codex's app server is not known.
    #[error(transparent)]
    NoSocket(#[from] NoSocketError),
    /// The arguments of `run` are wrong.
    #[error(transparent)]
    Run(#[from] RunArgsError),
    /// No sandbox can be made from the arguments of `sandbox run`.
    #[error(transparent)]
    SandboxRun(#[from] SandboxRunError),
    /// Staged changes cannot be shown or changed.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// Private changes in caches cannot be shown or deleted.
    #[error(transparent)]
    Caches(#[from] CachesError),
    /// The arguments of `hook` are wrong.
    #[error(transparent)]
    Hook(#[from] HookArgsError),
    /// The arguments describe no grant.
    #[error(transparent)]
    GrantArgs(#[from] GrantArgsError),
    /// The grants cannot be read or changed.
    #[error(transparent)]
    GrantFile(#[from] GrantFileError),
    /// No hook can be installed.
    #[error(transparent)]
    Init(#[from] InitError),
    /// A project cannot be trusted.
    #[error(transparent)]
    Trust(#[from] TrustCommandError),
    /// A policy file cannot be used.
    #[error(transparent)]
    PolicyFile(#[from] PolicyFileError),
    /// A policy file that a person named cannot be used.
    #[error(transparent)]
    NamedPolicy(#[from] NamedPolicyError),
    /// Rules cannot be added, compared or imported.
    #[error(transparent)]
    Rules(#[from] RulesError),
    /// A file cannot be read or changed.
    #[error(transparent)]
    File(#[from] FileError),
    /// The policy files are locked.
    #[error(transparent)]
    Lock(#[from] FileLockError),
    /// Standard input or output cannot be used.
    #[error(transparent)]
    Stream(#[from] StreamError),
    /// No command has this name.
    #[error("unknown command `{0}`")]
    UnknownCommand(String),
}

impl CliError {
    /// Returns the exit code.
    pub(crate) const fn exit_code(&self) -> ProgramExit {
        match self {
            Self::CodexAmend(_) => ProgramExit::Failure,
            Self::Stream(error) => exit_for(error.is_failure()),
            Self::File(error) => exit_for(error.is_failure()),
            Self::Trust(error) => exit_for(error.is_failure()),
            Self::Rules(error) => exit_for(error.is_failure()),
            Self::Stage(error) => exit_for(error.is_failure()),
            Self::Caches(error) => exit_for(error.is_failure()),
            Self::Open(_)
            | Self::Profile(_)
            | Self::Audit(_)
            | Self::Call(_)
            | Self::Row(_)
            | Self::Exact(_)
            | Self::NoSocket(_)
            | Self::Run(_)
            | Self::SandboxRun(_)
            | Self::Hook(_)
            | Self::GrantArgs(_)
            | Self::GrantFile(_)
            | Self::Init(_)
            | Self::PolicyFile(_)
            | Self::NamedPolicy(_)
            | Self::Lock(_)
            | Self::UnknownCommand(_) => ProgramExit::Usage,
        }
    }

    /// Returns what to do next, if that is known.
    pub(crate) fn hint(&self) -> Option<&str> {
        match self {
            Self::Open(error) => error.hint(),
            Self::Profile(error) => Some(error.hint()),
            Self::Call(error) => error.hint(),
            Self::Exact(error) => error.hint(),
            Self::CodexAmend(error) => error.hint(),
            Self::NoSocket(_) => Some(NoSocketError::HINT),
            Self::Run(error) => error.hint(),
            Self::Stage(error) => error.hint(),
            Self::Caches(error) => error.hint(),
            Self::Hook(error) => error.hint(),
            Self::GrantArgs(error) => error.hint(),
            Self::Init(error) => error.hint(),
            Self::PolicyFile(error) => error.hint(),
            Self::NamedPolicy(NamedPolicyError::UnknownFormat(_)) => {
                Some("specify it with --format")
            }
            Self::Rules(error) => error.hint(),
            Self::File(error) => error.hint(),
            Self::Audit(_)
            | Self::Row(_)
            | Self::SandboxRun(_)
            | Self::GrantFile(_)
            | Self::Trust(_)
            | Self::Lock(_)
            | Self::Stream(_)
            | Self::NamedPolicy(NamedPolicyError::NotAbsolute { .. })
            | Self::UnknownCommand(_) => None,
        }
    }
}

/// Returns the exit code: failure if the system refused something, otherwise usage.
const fn exit_for(is_failure: bool) -> ProgramExit {
    if is_failure { ProgramExit::Failure } else { ProgramExit::Usage }
}

impl From<serde_json::Error> for CliError {
    fn from(error: serde_json::Error) -> Self {
        Self::Stream(StreamError::NotJson(error))
    }
}
