//! What Codex makes of an attempt: whether the first one is held, what counts as a denial, and what follows (reference of 0.169, §6.2 and §7).
//!
//! Our own table of retries (`Attempted::next`) is stricter: it knows a denial by what was held and not by words, widens as little as possible
//! first, and asks about each retry.

use super::{
    approval_policy::{AskForApproval, SandboxMode},
    approval_requirement::ExecApprovalRequirement,
};

/// Why a person is asked to run something again without the sandbox.
pub const RETRY_PROMPT: &str = "command failed; retry without sandbox?";
/// What a shell returns for a command that the filter of system calls has ended.
const SIGSYS_EXIT_CODE: i32 = 128 + 31;
/// Words by which a failure is taken for a denial, in any case of letters.
const DENIAL_PHRASES: [&str; 7] = [
    "operation not permitted",
    "permission denied",
    "read-only file system",
    "seccomp",
    "sandbox",
    "landlock",
    "failed to write file",
];

/// The tools that differ in what follows a denial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodexRuntime {
    /// A command of the shell tool.
    Command,
    /// A patch.
    Patch,
}

/// An attempt that the sandbox has stopped.
#[derive(Clone, Copy, Debug)]
pub struct BlockedAttempt<'a> {
    /// What was run.
    pub runtime: CodexRuntime,
    /// When a person is asked.
    pub approval: AskForApproval,
    /// Whether this call was said yes to before.
    pub already_approved: bool,
    /// Whether the profile denies reading something: then nothing runs without it.
    pub denies_reading: bool,
    /// The host that it wanted to reach, if the managed network has stopped it.
    pub host: Option<&'a str>,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextStep {
    /// The output is returned.
    ReturnOutput,
    /// It runs once more, without the sandbox.
    Retry,
    /// That is asked about first.
    Ask {
        /// Why.
        reason: String,
    },
}

impl ExecApprovalRequirement {
    /// Says whether the first attempt runs without the sandbox.
    #[must_use]
    pub const fn first_runs_unsandboxed(&self, escalated: bool, denies_reading: bool) -> bool {
        let bypasses = matches!(self, Self::Skip { bypass_sandbox: true, .. });
        (bypasses || escalated) && !denies_reading
    }

    /// Returns what has to happen before a tool runs that no rule speaks of.
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
    /// Returns what follows. There is one retry at most.
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

/// Says whether Codex takes a failure for a denial of its sandbox: by words, so that an honest failure may be one.
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

    // Each row is a sentence of the reference's §7, steps 4 and 5.
    #[test]
    fn what_follows_a_denial_is_as_it_is_written() {
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
    fn the_first_attempt_is_free_where_rules_or_the_model_say_so_and_nothing_is_unreadable() {
        let skip =
            |bypass_sandbox| ExecApprovalRequirement::Skip { bypass_sandbox, amendment: None };
        assert!(skip(true).first_runs_unsandboxed(false, false));
        assert!(!skip(false).first_runs_unsandboxed(false, false));
        assert!(skip(false).first_runs_unsandboxed(true, false));
        assert!(!skip(true).first_runs_unsandboxed(true, true));
    }

    #[test]
    fn a_denial_is_told_by_words() {
        assert!(looks_like_denial(1, "touch: cannot touch 'x': Read-only file system"));
        assert!(looks_like_denial(2, "cat: Permission DENIED"));
        assert!(!looks_like_denial(0, "permission denied"));
        assert!(!looks_like_denial(1, "no such file"));
        assert!(looks_like_denial(159, ""));
    }

    // §6.2 of the reference.
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
