//! Problems of the wiring between agents and OpenOxide, with their fixes.

use serde_json::{Value, json};

/// The effect of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// The policy does not decide every call.
    Error,
    /// The problem prevents the check itself.
    Unknown,
    /// The policy decides, but something weakens it or needs attention.
    Warning,
}

macro_rules! problem_codes {
    ($($variant:ident $code:literal $severity:ident $doc:literal;)*) => {
        /// The kind of a problem. The name is part of the interface of the program.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum ProblemCode {
            $(#[doc = $doc] $variant,)*
        }

        impl ProblemCode {
            /// All codes.
            #[cfg(test)]
            pub(crate) const ALL: &[Self] = &[$(Self::$variant,)*];

            pub(crate) const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $code,)*
                }
            }

            pub(crate) const fn severity(self) -> Severity {
                match self {
                    $(Self::$variant => Severity::$severity,)*
                }
            }
        }
    };
}

problem_codes! {
    NotWired "not_wired" Error "No hook of OpenOxide is installed.";
    SettingsInvalid "settings_invalid" Error "The agent ignores its settings, because they cannot be parsed.";
    HooksDisabled "hooks_disabled" Error "A setting disables all hooks.";
    ManagedHooksOnly "managed_hooks_only" Error "The administrator allows only hooks of the managed settings.";
    EventMissing "event_missing" Error "The hook is not installed for an event.";
    MatcherNarrow "matcher_narrow" Error "The hook is called for some tools only.";
    ProgramMissing "program_missing" Error "The program that the hook starts does not exist.";
    FailsOpen "fails_open" Error "The agent continues if the hook cannot be started.";
    ShortTimeout "short_timeout" Error "The agent stops waiting before OpenOxide answers.";
    HookUntrusted "hook_untrusted" Error "Codex skips the hook, because it is not trusted.";
    CallAllowed "call_allowed" Error "A test call was not stopped.";
    CallsBlocked "calls_blocked" Error "The hook blocks every call.";
    NoAnswer "no_answer" Unknown "A test call has no answer that can be judged.";
    ProgramRelative "program_relative" Warning "The hook starts whichever program PATH contains.";
    OtherProgram "other_program" Warning "The hook starts another copy of OpenOxide.";
    BuildDirectory "build_directory" Warning "The hook starts a program in a build directory.";
    OtherHooks "other_hooks" Warning "Another hook can answer or change calls.";
    ReportMissing "report_missing" Warning "The end of calls is not reported.";
    AskRule "ask_rule" Warning "Claude Code asks about every tool.";
    BypassMode "bypass_mode" Warning "The agent's settings disable its approvals.";
    BypassAlias "bypass_alias" Warning "A start-up file of the shell disables approvals or hooks.";
    VersionUntested "version_untested" Warning "This version of the agent is not tested.";
    ProjectRunsCode "project_runs_code" Warning "Settings of the project run programs.";
    ProjectWidens "project_widens" Warning "Settings of the project allow calls.";
    HomeUnclear "home_unclear" Warning "HOME is not the home directory of the account.";
    ClockBehind "clock_behind" Warning "The clock is behind the time of the last record.";
    DirectoryWritable "directory_writable" Warning "Other users can change OpenOxide's files.";
    PolicyBroken "policy_broken" Warning "A policy file has errors.";
    ProjectUntrusted "project_untrusted" Warning "Permissive settings of the project are ignored.";
    JournalDamaged "journal_damaged" Warning "The audit journal is damaged.";
    SandboxUnavailable "sandbox_unavailable" Warning "Commands cannot be confined.";
}

/// The way to remove a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fix {
    /// A command to run.
    Command(String),
    /// An instruction.
    Text(String),
}

/// A problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) code: ProblemCode,
    pub(crate) message: String,
    pub(crate) fix: Fix,
}

impl Problem {
    /// Returns a problem that a command fixes.
    pub(crate) fn with_command(
        code: ProblemCode,
        message: impl Into<String>,
        command: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), fix: Fix::Command(command.into()) }
    }

    /// Returns a problem that a person fixes.
    pub(crate) fn with_advice(
        code: ProblemCode,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        Self { code, message: message.into(), fix: Fix::Text(advice.into()) }
    }

    /// Returns the problem as JSON. A fix that is a command is also given as `command`.
    pub(crate) fn to_json(&self) -> Value {
        let severity = match self.code.severity() {
            Severity::Error => "error",
            Severity::Unknown => "unknown",
            Severity::Warning => "warning",
        };
        let (fix, command) = match &self.fix {
            Fix::Command(command) => (format!("run `{command}`"), Some(command)),
            Fix::Text(text) => (text.clone(), None),
        };
        json!({
            "code": self.code.as_str(),
            "severity": severity,
            "message": self.message,
            "fix": fix,
            "command": command,
        })
    }
}

/// Whether the policy decides the calls of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WiringResult {
    /// It decides every call.
    Enforced,
    /// It does not decide every call.
    NotEnforced,
    /// It is unknown whether it does.
    Unknown,
}

impl WiringResult {
    /// Returns the result of problems, if `otherwise` is the result without any.
    pub(crate) fn from_problems(problems: &[Problem], otherwise: Self) -> Self {
        let has = |severity| problems.iter().any(|problem| problem.code.severity() == severity);
        if has(Severity::Error) {
            Self::NotEnforced
        } else if has(Severity::Unknown) {
            Self::Unknown
        } else {
            otherwise
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::NotEnforced => "not_enforced",
            Self::Unknown => "unknown",
        }
    }
}
