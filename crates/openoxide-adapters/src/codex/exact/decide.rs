//! A call as the model makes it, and what a client sees of the answer.

use serde::{Deserialize, Serialize};

use super::{
    dialect::Dialect,
    judge::{Judge, ShellCall},
    patch::FileChange,
    place::normal,
    requirement::Requirement,
    shell,
};
use crate::codex::wire::{CommandDecision, Kind};

/// The arguments of Codex's shell tool, as far as they decide.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Call {
    /// The script.
    pub cmd: String,
    /// Whether the shell reads its profile; it does if nothing is said.
    #[serde(default)]
    pub login: Option<bool>,
    /// Where it wants to run; in the sandbox if nothing is said.
    #[serde(default)]
    pub sandbox_permissions: Option<SandboxPermissions>,
    /// What it wants to do in the sandbox besides.
    #[serde(default)]
    pub additional_permissions: Option<serde_json::Value>,
    /// Why it wants that.
    #[serde(default)]
    pub justification: Option<String>,
    /// The words of a rule that the model proposes.
    #[serde(default)]
    pub prefix_rule: Option<Vec<String>>,
    /// The directory it wants to run in; where Codex was started if nothing is said.
    #[serde(default)]
    pub workdir: Option<String>,
}

/// Where a call wants to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPermissions {
    /// In the sandbox.
    #[default]
    UseDefault,
    /// Outside of it.
    RequireEscalated,
    /// In the sandbox, with more than it allows.
    WithAdditionalPermissions,
}

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Verdict {
    /// It runs, and nobody is asked.
    Run,
    /// A person is asked.
    Prompt,
    /// It does not run, and nobody is asked.
    Reject,
}

/// What a client sees of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// What becomes of the call.
    pub verdict: Verdict,
    /// Why a person is asked, or what the model reads of the refusal.
    pub reason: Option<String>,
    /// The words of the rule that the person is offered.
    pub amend: Option<Vec<String>>,
    /// Whether it runs outside of the sandbox because rules allow all of it.
    pub bypass_sandbox: bool,
    /// What kind of question it is, where only a person may answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// What the person may answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avail: Option<Vec<CommandDecision>>,
    /// The files that are changed, where Codex takes the call for a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<FileChange>>,
}

const UNASKED_JUSTIFICATION: &str = "`justification` requires an explicit `sandbox_permissions`; use \
    `sandbox_permissions: \"require_escalated\"` for unsandboxed execution, or omit `justification`.";
const ADDITIONAL: &str = "additional permissions are disabled; enable `features.exec_permission_approvals` before using \
    `with_additional_permissions`";

impl Call {
    /// Returns what is wrong with the arguments, whatever the command is.
    fn wrong(&self, dialect: Dialect) -> Option<&'static str> {
        match self.sandbox_permissions {
            None if self.justification.is_some() && dialect == Dialect::V0169 => {
                Some(UNASKED_JUSTIFICATION)
            }
            Some(SandboxPermissions::WithAdditionalPermissions) => Some(ADDITIONAL),
            _ => self.additional_permissions.as_ref().map(|_| ADDITIONAL),
        }
    }
}

impl Judge<'_> {
    /// Returns what becomes of a call.
    #[must_use]
    pub fn answer(&self, call: Call) -> Answer {
        if let Some(wrong) = call.wrong(self.dialect) {
            return Answer::refused(wrong.to_owned());
        }
        let escalated = call.sandbox_permissions == Some(SandboxPermissions::RequireEscalated);
        let flag = if call.login.unwrap_or(true) { "-lc" } else { "-c" };
        let argv = vec![self.shell.to_owned(), flag.to_owned(), call.cmd];
        let wanted = ShellCall { argv, escalated, prefix_rule: call.prefix_rule };
        let patched = || self.patched(&wanted, call.workdir.as_deref());
        if let Some(answer) = self.refused(&wanted).map(Answer::refused).or_else(patched) {
            return answer;
        }
        match self.requirement(&wanted) {
            Requirement::Skip { bypass_sandbox, .. } => {
                Answer::of(Verdict::Run, None, bypass_sandbox)
            }
            Requirement::Forbidden { reason } => Answer::refused(reason),
            Requirement::NeedsPerson { reason } => {
                Answer::of(Verdict::Prompt, Some(reason), false).for_a_person()
            }
            Requirement::NeedsApproval { reason, amendment } => {
                let reason = reason.or(call.justification);
                Answer::of(Verdict::Prompt, reason, false).offering(amendment)
            }
        }
    }

    /// Answers a call that Codex takes for a patch. No rule is asked about it.
    fn patched(&self, call: &ShellCall, workdir: Option<&str>) -> Option<Answer> {
        let script = shell::script(&call.argv)?;
        let cwd = match workdir {
            Some(absolute) if absolute.starts_with('/') => normal(absolute),
            Some(relative) => normal(&format!("{}/{relative}", self.place.cwd)),
            None => self.place.cwd.to_owned(),
        };
        self.patch_of_script(script, &cwd)
    }
}

impl Answer {
    pub(super) const fn of(verdict: Verdict, reason: Option<String>, bypass_sandbox: bool) -> Self {
        let (amend, avail, changes) = (None, None, None);
        Self { verdict, reason, amend, bypass_sandbox, kind: None, avail, changes }
    }

    pub(super) const fn refused(reason: String) -> Self {
        Self::of(Verdict::Reject, Some(reason), false)
    }

    fn for_a_person(self) -> Self {
        let all = vec![CommandDecision::Accept, CommandDecision::Decline, CommandDecision::Cancel];
        Self { kind: Some(Kind::HumanCommand), avail: Some(all), ..self }
    }

    fn offering(self, amend: Option<Vec<String>>) -> Self {
        let rule = amend.clone().map(|execpolicy_amendment| {
            CommandDecision::AcceptWithExecpolicyAmendment { execpolicy_amendment }
        });
        let all = [Some(CommandDecision::Accept), rule, Some(CommandDecision::Cancel)];
        Self { amend, avail: Some(all.into_iter().flatten().collect()), ..self }
    }
}
