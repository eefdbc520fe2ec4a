//! Codex's handling of sandboxed attempts: whether the first attempt is confined, which failures
//! are treated as denials, and the next step (0.169).
//!
//! OpenOxide's own retry logic (`AttemptState::next_step` in `openoxide-engine`) is stricter. It
//! recognizes a denial by the restriction that caused it and not by words, extends the profile as
//! little as possible first, and asks about each retry.

use super::{
    approval_policy::{AskForApproval, SandboxMode},
    approval_requirement::ExecApprovalRequirement,
};

/// The question before a retry without the sandbox.
pub const RETRY_PROMPT: &str = "command failed; retry without sandbox?";
/// The exit code that a shell reports for a command killed by the system call filter.
const SIGSYS_EXIT_CODE: i32 = 128 + 31;
/// Phrases in the output by which a failure is treated as a denial, compared without regard to
/// case.
const DENIAL_PHRASES: [&str; 7] = [
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
];

/// The tools for which the step after a denial differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodexRuntime {
    /// A command of the shell tool.
    Command,
    /// A patch.
    Patch,
}

/// An attempt that the sandbox has blocked.
#[derive(Clone, Copy, Debug)]
pub struct BlockedAttempt<'a> {
    /// The tool that was run.
    pub runtime: CodexRuntime,
    /// The conditions under which a person is asked.
    pub approval: AskForApproval,
    /// True if this call was approved before.
    pub already_approved: bool,
    /// True if the profile denies reading something. In that case nothing runs without the profile.
    pub denies_reading: bool,
    /// The host that the call tried to reach, if the managed network has blocked the attempt.
    pub host: Option<&'a str>,
}

/// The step after a blocked attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The output is returned.
    ReturnOutput,
    /// The call runs once more, without the sandbox.
    Retry,
    /// A person is asked before the call runs once more.
    Ask {
        /// The reason for the question.
        reason: String,
    },
}

impl ExecApprovalRequirement {
    /// Returns whether the first attempt runs without the sandbox.
    #[must_use]
    pub const fn first_runs_unsandboxed(&self, escalated: bool, denies_reading: bool) -> bool {
        let bypasses = matches!(self, Self::Skip { bypass_sandbox: true, .. });
        (bypasses || escalated) && !denies_reading
    }

    /// Returns the approval that a tool requires if no rule matches it.
    #[must_use]
    pub fn for_unmatched_tool(approval: AskForApproval, sandbox: SandboxMode) -> Self {
        let ask = || Self::NeedsApproval { reason: None, amendment: None };
        match approval {
            AskForApproval::UnlessTrusted => ask(),
            AskForApproval::Granular(granular)
                if sandbox.is_restricted() && !granular.sandbox_approval =>
            {
                let reason = "approval policy disallowed sandbox approval prompt".to_owned();
                Self::Forbidden { reason }
            }
            AskForApproval::OnRequest | AskForApproval::Granular(_) if sandbox.is_restricted() => {
                ask()
            }
            _ => Self::Skip { bypass_sandbox: false, amendment: None },
        }
    }
}

impl BlockedAttempt<'_> {
    /// Returns the next step. There is at most one retry.
    #[must_use]
    pub fn next_step(&self) -> NextStep {
        if self.denies_reading || !self.allows_unsandboxed_retry() {
            return NextStep::ReturnOutput;
        }
        match self.host {
            Some(host) => NextStep::Ask {
                reason: format!("Network access to \"{host}\" is blocked by policy."),
            },
            None if self.already_approved => NextStep::Retry,
            None => NextStep::Ask { reason: RETRY_PROMPT.to_owned() },
        }
    }

    const fn allows_unsandboxed_retry(&self) -> bool {
        match self.approval {
            AskForApproval::UnlessTrusted => true,
            AskForApproval::Granular(granular) => granular.sandbox_approval,
            AskForApproval::OnRequest => {
                self.host.is_some() || matches!(self.runtime, CodexRuntime::Patch)
            }
            AskForApproval::Never => false,
        }
    }
}

/// Returns whether Codex treats a failure as a denial of its sandbox. It recognizes a denial by
/// words, so an ordinary failure can be treated as one.
#[must_use]
pub fn looks_like_denial(status: i32, output: &str) -> bool {
    let output = output.to_ascii_lowercase();
    let said = || DENIAL_PHRASES.iter().any(|words| output.contains(words));
    status != 0 && (said() || status == SIGSYS_EXIT_CODE)
}

#[cfg(test)]
mod tests {
    use super::{super::approval_policy::GranularApprovalConfig, *};

    const fn granular(sandbox_approval: bool) -> AskForApproval {
        AskForApproval::Granular(GranularApprovalConfig {
            sandbox_approval,
            rules: true,
            skill_approval: false,
            request_permissions: false,
            mcp_elicitations: false,
        })
    }

    const STOPPED: BlockedAttempt<'_> = BlockedAttempt {
        runtime: CodexRuntime::Command,
        approval: AskForApproval::UnlessTrusted,
        already_approved: false,
        denies_reading: false,
        host: None,
    };

    // Each row is one statement of a description of Codex 0.169.
    #[test]
    fn the_next_step_after_a_denial_follows_the_reference() {
        let asked = || NextStep::Ask { reason: RETRY_PROMPT.to_owned() };
        let network = || NextStep::Ask {
            reason: "Network access to \"a.example\" is blocked by policy.".to_owned(),
        };
        let host = Some("a.example");
        for (stopped, expected) in [
            (STOPPED, asked()),
            (BlockedAttempt { already_approved: true, ..STOPPED }, NextStep::Retry),
            (BlockedAttempt { already_approved: true, host, ..STOPPED }, network()),
            (
                BlockedAttempt { denies_reading: true, already_approved: true, ..STOPPED },
                NextStep::ReturnOutput,
            ),
            (BlockedAttempt { approval: granular(true), ..STOPPED }, asked()),
            (BlockedAttempt { approval: granular(false), ..STOPPED }, NextStep::ReturnOutput),
            (
                BlockedAttempt { approval: AskForApproval::OnRequest, ..STOPPED },
                NextStep::ReturnOutput,
            ),
            (BlockedAttempt { approval: AskForApproval::OnRequest, host, ..STOPPED }, network()),
            (
                BlockedAttempt {
                    approval: AskForApproval::OnRequest,
                    runtime: CodexRuntime::Patch,
                    ..STOPPED
                },
                asked(),
            ),
            (
                BlockedAttempt { approval: AskForApproval::Never, host, ..STOPPED },
                NextStep::ReturnOutput,
            ),
        ] {
            assert_eq!(stopped.next_step(), expected, "{stopped:?}");
        }
    }

    #[test]
    fn the_first_attempt_is_unsandboxed_only_if_no_reading_is_denied() {
        let skip =
            |bypass_sandbox| ExecApprovalRequirement::Skip { bypass_sandbox, amendment: None };
        assert!(skip(true).first_runs_unsandboxed(false, false));
        assert!(!skip(false).first_runs_unsandboxed(false, false));
        assert!(skip(false).first_runs_unsandboxed(true, false));
        assert!(!skip(true).first_runs_unsandboxed(true, true));
    }

    #[test]
    fn a_denial_is_recognized_by_words() {
        assert!(looks_like_denial(1, "touch: cannot touch 'x': Read-only file system"));
        assert!(looks_like_denial(2, "cat: Permission DENIED"));
        assert!(!looks_like_denial(0, "permission denied"));
        assert!(!looks_like_denial(1, "no such file"));
        assert!(looks_like_denial(159, ""));
    }

    // The rows are from the same description of Codex 0.169.
    #[test]
    fn tools_without_rules_are_asked_about_where_the_sandbox_holds() {
        use SandboxMode::{DangerFullAccess, WorkspaceWrite};
        let kind = |approval, sandbox| match ExecApprovalRequirement::for_unmatched_tool(
            approval, sandbox,
        ) {
            ExecApprovalRequirement::Skip { .. } => "skip",
            ExecApprovalRequirement::Forbidden { .. } => "forbidden",
            _ => "ask",
        };
        for (approval, held, free) in [
            (AskForApproval::UnlessTrusted, "ask", "ask"),
            (AskForApproval::OnRequest, "ask", "skip"),
            (AskForApproval::Never, "skip", "skip"),
            (granular(true), "ask", "skip"),
            (granular(false), "forbidden", "skip"),
        ] {
            assert_eq!(kind(approval, WorkspaceWrite), held, "{approval:?}");
            assert_eq!(kind(approval, DangerFullAccess), free, "{approval:?}");
        }
    }
}
