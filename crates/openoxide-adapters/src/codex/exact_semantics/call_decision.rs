//! A call as the model makes it, and what a client sees of the answer.

use serde::{Deserialize, Serialize};

use super::{
    apply_patch::PatchedFile,
    approval_requirement::ExecApprovalRequirement,
    call_evaluator::{CallEvaluator, ShellInvocation},
    dialect::CodexDialect,
    launch_context::normalize_path,
    script_commands,
};
use crate::codex::app_server::{CommandApprovalKind, CommandDecision};

/// The arguments of Codex's shell tool, as far as they decide.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ShellToolCall {
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
pub enum CallVerdict {
    /// It runs, and nobody is asked.
    Run,
    /// A person is asked.
    Prompt,
    /// It does not run, and nobody is asked.
    Reject,
}

/// What a client sees of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallOutcome {
    /// What becomes of the call.
    pub verdict: CallVerdict,
    /// Why a person is asked, or what the model reads of the refusal.
    pub reason: Option<String>,
    /// The words of the rule that the person is offered.
    pub amend: Option<Vec<String>>,
    /// Whether it runs outside of the sandbox because rules allow all of it.
    pub bypass_sandbox: bool,
    /// What kind of question it is, where only a person may answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<CommandApprovalKind>,
    /// What the person may answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub avail: Option<Vec<CommandDecision>>,
    /// The files that are changed, where Codex takes the call for a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<PatchedFile>>,
}

const JUSTIFICATION_ERROR: &str = "`justification` requires an explicit `sandbox_permissions`; use \
    `sandbox_permissions: \"require_escalated\"` for unsandboxed execution, or omit `justification`.";
const ADDITIONAL_PERMISSIONS_ERROR: &str = "additional permissions are disabled; enable `features.exec_permission_approvals` before using \
    `with_additional_permissions`";

impl ShellToolCall {
    /// Returns what is wrong with the arguments, whatever the command is.
    fn find_argument_error(&self, dialect: CodexDialect) -> Option<&'static str> {
        match self.sandbox_permissions {
            None if self.justification.is_some() && dialect == CodexDialect::V0169 => {
                Some(JUSTIFICATION_ERROR)
            }
            Some(SandboxPermissions::WithAdditionalPermissions) => {
                Some(ADDITIONAL_PERMISSIONS_ERROR)
            }
            _ => self.additional_permissions.as_ref().map(|_| ADDITIONAL_PERMISSIONS_ERROR),
        }
    }
}

impl CallEvaluator<'_> {
    /// Returns what becomes of a call.
    #[must_use]
    pub fn decide(&self, call: ShellToolCall) -> CallOutcome {
        if let Some(wrong) = call.find_argument_error(self.dialect) {
            return CallOutcome::new_rejection(wrong.to_owned());
        }
        let escalated = call.sandbox_permissions == Some(SandboxPermissions::RequireEscalated);
        let flag = if call.login.unwrap_or(true) { "-lc" } else { "-c" };
        let argv = vec![self.shell.to_owned(), flag.to_owned(), call.cmd];
        let wanted = ShellInvocation { argv, escalated, prefix_rule: call.prefix_rule };
        let patched = || self.decide_patch(&wanted, call.workdir.as_deref());
        if let Some(answer) =
            self.escalation_rejection(&wanted).map(CallOutcome::new_rejection).or_else(patched)
        {
            return answer;
        }
        match self.approval_requirement(&wanted) {
            ExecApprovalRequirement::Skip { bypass_sandbox, .. } => {
                CallOutcome::new(CallVerdict::Run, None, bypass_sandbox)
            }
            ExecApprovalRequirement::Forbidden { reason } => CallOutcome::new_rejection(reason),
            ExecApprovalRequirement::NeedsHumanApproval { reason } => {
                CallOutcome::new(CallVerdict::Prompt, Some(reason), false).with_human_approval()
            }
            ExecApprovalRequirement::NeedsApproval { reason, amendment } => {
                let reason = reason.or(call.justification);
                CallOutcome::new(CallVerdict::Prompt, reason, false).with_amendment(amendment)
            }
        }
    }

    /// Answers a call that Codex takes for a patch. No rule is asked about it.
    fn decide_patch(&self, call: &ShellInvocation, workdir: Option<&str>) -> Option<CallOutcome> {
        let script = script_commands::extract_script(&call.argv)?;
        let cwd = match workdir {
            Some(absolute) if absolute.starts_with('/') => normalize_path(absolute),
            Some(relative) => normalize_path(&format!("{}/{relative}", self.context.cwd)),
            None => self.context.cwd.to_owned(),
        };
        self.decide_patch_script(script, &cwd)
    }
}

impl CallOutcome {
    pub(super) const fn new(
        verdict: CallVerdict,
        reason: Option<String>,
        bypass_sandbox: bool,
    ) -> Self {
        let (amend, avail, changes) = (None, None, None);
        Self { verdict, reason, amend, bypass_sandbox, kind: None, avail, changes }
    }

    pub(super) const fn new_rejection(reason: String) -> Self {
        Self::new(CallVerdict::Reject, Some(reason), false)
    }

    fn with_human_approval(self) -> Self {
        let all = vec![CommandDecision::Accept, CommandDecision::Decline, CommandDecision::Cancel];
        Self { kind: Some(CommandApprovalKind::HumanCommand), avail: Some(all), ..self }
    }

    fn with_amendment(self, amend: Option<Vec<String>>) -> Self {
        let rule = amend.clone().map(|execpolicy_amendment| {
            CommandDecision::AcceptWithExecpolicyAmendment { execpolicy_amendment }
        });
        let all = [Some(CommandDecision::Accept), rule, Some(CommandDecision::Cancel)];
        Self { amend, avail: Some(all.into_iter().flatten().collect()), ..self }
    }
}
