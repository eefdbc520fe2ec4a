//! What Codex makes of an attempt: whether the first one is held, what counts as a denial, and what follows (reference of 0.169, §6.2 and §7).
//!
//! Our own table of retries (`Attempted::next`) is stricter: it knows a denial by what was held and not by words, widens as little as possible
//! first, and asks about each retry.

use super::{
    approval::{AskForApproval, SandboxMode},
    requirement::Requirement,
};

/// Why a person is asked to run something again without the sandbox.
pub const RETRY: &str = "command failed; retry without sandbox?";
/// What a shell returns for a command that the filter of system calls has ended.
const ENDED_BY_FILTER: i32 = 128 + 31;
/// Words by which a failure is taken for a denial, in any case of letters.
const DENIED: [&str; 7] = [
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
pub enum Runtime {
    /// A command of the shell tool.
    Command,
    /// A patch.
    Patch,
}

/// An attempt that the sandbox has stopped.
#[derive(Clone, Copy, Debug)]
pub struct Stopped<'a> {
    /// What was run.
    pub runtime: Runtime,
    /// When a person is asked.
    pub approval: AskForApproval,
    /// Whether this call was said yes to before.
    pub approved: bool,
    /// Whether the profile denies reading something: then nothing runs without it.
    pub denies_reading: bool,
    /// The host that it wanted to reach, if the managed network has stopped it.
    pub host: Option<&'a str>,
}

/// What follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Follows {
    /// The output is returned.
    Output,
    /// It runs once more, without the sandbox.
    Retry,
    /// That is asked about first.
    Asked {
        /// Why.
        reason: String,
    },
}

impl Requirement {
    /// Says whether the first attempt runs without the sandbox.
    #[must_use]
    pub const fn first_is_free(&self, escalated: bool, denies_reading: bool) -> bool {
        let bypasses = matches!(self, Self::Skip { bypass_sandbox: true, .. });
        (bypasses || escalated) && !denies_reading
    }

    /// Returns what has to happen before a tool runs that no rule speaks of.
    #[must_use]
    pub fn of_other_tools(approval: AskForApproval, sandbox: SandboxMode) -> Self {
        let ask = || Self::NeedsApproval { reason: None, amendment: None };
        match approval {
            AskForApproval::UnlessTrusted => ask(),
            AskForApproval::Granular(granular)
                if sandbox.restricts() && !granular.sandbox_approval =>
            {
                let reason = "approval policy disallowed sandbox approval prompt".to_owned();
                Self::Forbidden { reason }
            }
            AskForApproval::OnRequest | AskForApproval::Granular(_) if sandbox.restricts() => ask(),
            _ => Self::Skip { bypass_sandbox: false, amendment: None },
        }
    }
}

impl Stopped<'_> {
    /// Returns what follows. There is one retry at most.
    #[must_use]
    pub fn follows(&self) -> Follows {
        if self.denies_reading || !self.wants_without() {
            return Follows::Output;
        }
        match self.host {
            Some(host) => Follows::Asked {
                reason: format!("Network access to \"{host}\" is blocked by policy."),
            },
            None if self.approved => Follows::Retry,
            None => Follows::Asked { reason: RETRY.to_owned() },
        }
    }

    const fn wants_without(&self) -> bool {
        match self.approval {
            AskForApproval::UnlessTrusted => true,
            AskForApproval::Granular(granular) => granular.sandbox_approval,
            AskForApproval::OnRequest => {
                self.host.is_some() || matches!(self.runtime, Runtime::Patch)
            }
            AskForApproval::Never => false,
        }
    }
}

/// Says whether Codex takes a failure for a denial of its sandbox: by words, so that an honest failure may be one.
#[must_use]
pub fn is_denial(status: i32, output: &str) -> bool {
    let output = output.to_ascii_lowercase();
    let said = || DENIED.iter().any(|words| output.contains(words));
    status != 0 && (said() || status == ENDED_BY_FILTER)
}

#[cfg(test)]
mod tests {
    use super::{super::approval::GranularApprovalConfig, *};

    const fn granular(sandbox_approval: bool) -> AskForApproval {
        AskForApproval::Granular(GranularApprovalConfig {
            sandbox_approval,
            rules: true,
            skill_approval: false,
            request_permissions: false,
            mcp_elicitations: false,
        })
    }

    const STOPPED: Stopped<'_> = Stopped {
        runtime: Runtime::Command,
        approval: AskForApproval::UnlessTrusted,
        approved: false,
        denies_reading: false,
        host: None,
    };

    // Each row is a sentence of the reference's §7, steps 4 and 5.
    #[test]
    fn what_follows_a_denial_is_as_it_is_written() {
        let asked = || Follows::Asked { reason: RETRY.to_owned() };
        let network = || Follows::Asked {
            reason: "Network access to \"a.example\" is blocked by policy.".to_owned(),
        };
        let host = Some("a.example");
        for (stopped, expected) in [
            (STOPPED, asked()),
            (Stopped { approved: true, ..STOPPED }, Follows::Retry),
            (Stopped { approved: true, host, ..STOPPED }, network()),
            (Stopped { denies_reading: true, approved: true, ..STOPPED }, Follows::Output),
            (Stopped { approval: granular(true), ..STOPPED }, asked()),
            (Stopped { approval: granular(false), ..STOPPED }, Follows::Output),
            (Stopped { approval: AskForApproval::OnRequest, ..STOPPED }, Follows::Output),
            (Stopped { approval: AskForApproval::OnRequest, host, ..STOPPED }, network()),
            (
                Stopped { approval: AskForApproval::OnRequest, runtime: Runtime::Patch, ..STOPPED },
                asked(),
            ),
            (Stopped { approval: AskForApproval::Never, host, ..STOPPED }, Follows::Output),
        ] {
            assert_eq!(stopped.follows(), expected, "{stopped:?}");
        }
    }

    #[test]
    fn the_first_attempt_is_free_where_rules_or_the_model_say_so_and_nothing_is_unreadable() {
        let skip = |bypass_sandbox| Requirement::Skip { bypass_sandbox, amendment: None };
        assert!(skip(true).first_is_free(false, false));
        assert!(!skip(false).first_is_free(false, false));
        assert!(skip(false).first_is_free(true, false));
        assert!(!skip(true).first_is_free(true, true));
    }

    #[test]
    fn a_denial_is_told_by_words() {
        assert!(is_denial(1, "touch: cannot touch 'x': Read-only file system"));
        assert!(is_denial(2, "cat: Permission DENIED"));
        assert!(!is_denial(0, "permission denied"));
        assert!(!is_denial(1, "no such file"));
        assert!(is_denial(159, ""));
    }

    // §6.2 of the reference.
    #[test]
    fn tools_without_rules_are_asked_about_where_the_sandbox_holds() {
        use SandboxMode::{DangerFullAccess, WorkspaceWrite};
        let kind = |approval, sandbox| match Requirement::of_other_tools(approval, sandbox) {
            Requirement::Skip { .. } => "skip",
            Requirement::Forbidden { .. } => "forbidden",
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
