//! Errors of `--exact`.

use openoxide_adapters::opencode::UnknownAgentError;
use openoxide_store::BrokenFile;
use thiserror::Error;

use super::codex_error::CodexPolicyError;

/// The reason that a policy cannot be evaluated as its own program would do it.
#[derive(Debug, Error)]
pub(crate) enum ExactPolicyError {
    /// No policy is named.
    #[error("--exact needs --policy FILE")]
    NoPolicy,
    /// The policy is a native one.
    #[error("--exact is for the policies of other programs")]
    NativePolicy,
    /// There is no exact evaluation for this program.
    #[error("--exact answers as Claude Code, Codex and OpenCode do")]
    UnsupportedProgram,
    /// The policies belong to several programs.
    #[error("--exact evaluates the policies of one program at a time")]
    SeveralPrograms,
    /// Only OpenCode has rules for agents.
    #[error("only OpenCode has rules for agents")]
    NoAgents,
    /// The program has no modes; its name.
    #[error("{0} has no modes")]
    NoModes(&'static str),
    /// The agent is not in OpenCode's policy.
    #[error(transparent)]
    UnknownAgent(#[from] UnknownAgentError),
    /// A rule file of Codex has an error.
    #[error(transparent)]
    Codex(#[from] CodexPolicyError),
    /// Files have errors.
    #[error("the policy has errors")]
    BrokenFiles(Vec<BrokenFile>),
}

impl ExactPolicyError {
    /// Returns what to do next, if that is known.
    pub(super) const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NativePolicy | Self::UnsupportedProgram => Some("remove --exact"),
            Self::NoAgents => Some("remove --agent"),
            Self::NoModes(_) => Some("remove --mode"),
            Self::NoPolicy
            | Self::SeveralPrograms
            | Self::UnknownAgent(_)
            | Self::Codex(_)
            | Self::BrokenFiles(_) => None,
        }
    }
}
