//! A call from the model, and the answer as a client sees it.

use serde::{Deserialize, Serialize};

use super::{
    apply_patch::patch_change::PatchedFile,
    approval_requirement::ExecApprovalRequirement,
    call_evaluator::{CallEvaluator, ShellInvocation},
    dialect::CodexDialect,
    launch_context::normalize_path,
    script_commands,
};
use crate::{
    app_server::{CommandApprovalKind, PLAIN_DECISIONS, decision_words},
    review_decision::CodexReviewDecision,
};

/// The arguments of Codex's shell tool that matter for the decision.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct ShellToolCall {
    /// The script.
    pub cmd: String,
    /// True if the shell reads its profile, which is the default.
    #[serde(default)]
    pub login: Option<bool>,
    /// The requested confinement; the default is the sandbox.
    #[serde(default)]
    pub sandbox_permissions: Option<SandboxPermissions>,
    /// Additional permissions that are requested within the sandbox.
    #[serde(default)]
    pub additional_permissions: Option<serde_json::Value>,
    /// The justification for the request.
    #[serde(default)]
    pub justification: Option<String>,
    /// The words of a rule that the model proposes.
    #[serde(default)]
    pub prefix_rule: Option<Vec<String>>,
    /// The requested working directory; the default is the directory in which Codex was started.
    #[serde(default)]
    pub workdir: Option<String>,
}

/// The confinement that a call requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxPermissions {
    /// The call runs in the sandbox.
    #[default]
    UseDefault,
    /// The call runs outside of the sandbox.
    RequireEscalated,
    /// The call runs in the sandbox with additional permissions.
    WithAdditionalPermissions,
}

/// The decision about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum CallVerdict {
    /// The call runs without a question.
    Run,
    /// A person is asked.
    Prompt,
    /// The call is rejected without a question.
    Reject,
}

/// The decision about a call, with the details that a client sees.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CallOutcome {
    /// The decision about the call.
    pub verdict: CallVerdict,
    /// The reason for the question, or the rejection message for the model.
    pub reason: Option<String>,
    /// The words of the rule that the person is offered.
    pub amend: Option<Vec<String>>,
    /// True if the call runs outside of the sandbox because rules allow each of its commands.
    pub bypass_sandbox: bool,
    /// The kind of question, if only a person may answer it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<CommandApprovalKind>,
    /// The possible answers.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "decision_words::serialize")]
    pub avail: Option<Vec<CodexReviewDecision>>,
    /// The files that are changed, if Codex treats the call as a patch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<PatchedFile>>,
}

const JUSTIFICATION_ERROR: &str = "`justification` requires an explicit `sandbox_permissions`; use \
    `sandbox_permissions: \"require_escalated\"` for unsandboxed execution, or omit `justification`.";
const ADDITIONAL_PERMISSIONS_ERROR: &str = "additional permissions are disabled; enable `features.exec_permission_approvals` before using \
    `with_additional_permissions`";

impl ShellToolCall {
    /// Returns an error in the arguments that does not depend on the command.
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
    /// Returns the decision about a call.
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

    /// Decides a call that Codex treats as a patch. No rule is applied to it.
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
        let all = Some(PLAIN_DECISIONS.to_vec());
        Self { kind: Some(CommandApprovalKind::HumanCommand), avail: all, ..self }
    }

    fn with_amendment(self, amend: Option<Vec<String>>) -> Self {
        let rule = amend.clone().map(|words| CodexReviewDecision::ApprovedExecpolicyAmendment {
            proposed_execpolicy_amendment: words,
        });
        let all = [Some(CodexReviewDecision::Approved), rule, Some(CodexReviewDecision::Abort)];
        Self { amend, avail: Some(all.into_iter().flatten().collect()), ..self }
    }
}
