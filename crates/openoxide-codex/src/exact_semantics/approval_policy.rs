//! Codex's settings that decide whether a person is asked.
//!
//! The names of types and fields are Codex's own: its messages show them in Rust's `Debug` form.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::dialect::CodexDialect;

/// The conditions under which a person is asked (`approval_policy`), in their serialized form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AskForApproval {
    /// A person is asked about everything that no rule allows.
    #[serde(rename = "untrusted")]
    UnlessTrusted,
    /// A person is asked when the model requests a run outside of the sandbox, or when a rule
    /// prompts.
    #[serde(alias = "on-failure")]
    OnRequest,
    /// As with `OnRequest`, but each kind of question can be switched off.
    Granular(GranularApprovalConfig),
    /// A person is never asked.
    Never,
}

/// The kinds of questions that may be asked.
#[expect(clippy::struct_excessive_bools, reason = "as on the wire")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GranularApprovalConfig {
    /// Questions about commands outside of the sandbox.
    pub sandbox_approval: bool,
    /// Questions that rules require.
    pub rules: bool,
    /// Questions about skills.
    #[serde(default)]
    pub skill_approval: bool,
    /// Questions about more permissions.
    #[serde(default)]
    pub request_permissions: bool,
    /// Questions of MCP servers.
    #[serde(default)]
    pub mcp_elicitations: bool,
}

impl AskForApproval {
    /// Returns whether the model may ask for a run outside of the sandbox.
    pub(super) fn may_escalate(self, dialect: CodexDialect) -> bool {
        match (self, dialect) {
            (Self::OnRequest, _) => true,
            (_, CodexDialect::V0145) | (Self::Never, _) => false,
            (Self::UnlessTrusted, _) => true,
            (Self::Granular(granular), _) => granular.sandbox_approval,
        }
    }
}

/// The error for a text that is not an approval policy.
#[derive(Debug, Error)]
#[error(
    "`{text}` is not an approval policy ({reason}): write `untrusted`, `on-request`, `never`, or \
     {{\"granular\":{{\"sandbox_approval\":true,\"rules\":true}}}}"
)]
pub struct ApprovalPolicyError {
    text: String,
    reason: ApprovalPolicyReason,
}

/// The reason why a text is not an approval policy.
#[derive(Debug, Error)]
enum ApprovalPolicyReason {
    /// The text is not an object of the expected form.
    #[error("{0}")]
    InvalidObject(serde_json::Error),
    /// There is no approval policy of this name.
    #[error("there is none of this name")]
    UnknownName,
}

impl FromStr for AskForApproval {
    type Err = ApprovalPolicyError;

    fn from_str(text: &str) -> Result<Self, ApprovalPolicyError> {
        let value = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text).map_err(ApprovalPolicyReason::InvalidObject),
            false => {
                serde_json::from_value(text.into()).map_err(|_| ApprovalPolicyReason::UnknownName)
            }
        };
        value.map_err(|reason| ApprovalPolicyError { text: text.to_owned(), reason })
    }
}

/// The confinement of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SandboxMode {
    /// Commands cannot write.
    ReadOnly,
    /// Commands can write in the project.
    WorkspaceWrite,
    /// Commands run without a sandbox.
    DangerFullAccess,
    /// Commands run in a sandbox outside of Codex.
    #[serde(alias = "external")]
    ExternalSandbox,
}

impl SandboxMode {
    /// Returns whether commands may write.
    pub(super) const fn allows_writes(self) -> bool {
        !matches!(self, Self::ReadOnly)
    }

    /// Returns whether Codex itself confines commands.
    pub(super) const fn is_restricted(self) -> bool {
        matches!(self, Self::ReadOnly | Self::WorkspaceWrite)
    }
}

/// The error for a text that is not a sandbox mode.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not a sandbox mode: write `read-only`, `workspace-write` or `danger-full-access`"
)]
pub struct UnknownSandboxModeError(String);

impl FromStr for SandboxMode {
    type Err = UnknownSandboxModeError;

    fn from_str(name: &str) -> Result<Self, UnknownSandboxModeError> {
        serde_json::from_value(name.into()).map_err(|_| UnknownSandboxModeError(name.to_owned()))
    }
}
