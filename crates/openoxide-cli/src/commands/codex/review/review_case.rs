//! The policy's decision about a request: hooks, analysis, the rules of the conversation's project,
//! and the gate.

use std::path::Path;

use openoxide_codex::approval_review::{CodexAnswer, ReviewRequest};
use openoxide_engine::{
    CheckOptions, Engine, GateVerdict, GrantUseMode, InterruptedError, PreparedCall, RecordOrigin,
};
use openoxide_protocol::{AbsPath, ApprovalRequest, Decision, Effect, OperationFacts};
use openoxide_store::audit::{self, AnswerChannel, AuditError, RequestedConfinement};

use crate::{
    args::{CodexReviewArgs, PolicyArgs},
    error::CliError,
    policy_args,
    terminal_host::TerminalHost,
};

/// One request under the policy of its project.
pub(super) struct ReviewCase<'e> {
    engine: &'e Engine,
    prepared: PreparedCall<'e>,
}

/// Opens the engine for the project of a conversation.
///
/// # Errors
/// If the policy cannot be found.
pub(super) fn open_engine(args: &CodexReviewArgs, project: &AbsPath) -> Result<Engine, CliError> {
    let args = new_policy_args(args, Some(Path::new(project.as_str())));
    policy_args::open_engine_for_execution(&args, None)
}

impl<'e> ReviewCase<'e> {
    /// Analyzes the request, and runs the hooks.
    ///
    /// # Errors
    /// If a termination signal arrived.
    pub(super) fn prepare(
        engine: &'e Engine,
        wanted: ReviewRequest,
    ) -> Result<Self, InterruptedError> {
        let options = CheckOptions {
            extra_actions: wanted.additional_actions,
            title: Some(wanted.title),
            presentation: Some(wanted.presentation),
            requires_explicit_approval: wanted.human_approval_reason.is_some(),
            ..CheckOptions::new(RecordOrigin::CODEX_REVIEW, RequestedConfinement::default())
        };
        let prepared = engine.prepare_call(wanted.operation, options, &TerminalHost)?;
        Ok(Self { engine, prepared })
    }

    /// Returns the operation of the request.
    pub(super) const fn facts(&self) -> &OperationFacts {
        self.prepared.facts()
    }

    /// Checks the request with the gate. With a `violation`, only a person's explicit approval
    /// applies.
    pub(super) fn check_gate(&self, violation: Option<&str>) -> GateVerdict {
        self.prepared.check_gate(violation)
    }

    /// Returns the error of the managed policy, if it prevents every decision.
    pub(super) fn managed_policy_error(&self) -> Option<&str> {
        self.engine.managed_policy_error()
    }

    /// Returns the current decision of the policy if it is a deny. It overrides a person's
    /// approval.
    pub(super) fn current_denial(&self) -> Option<Decision> {
        let (operation, facts) = (self.prepared.operation(), self.prepared.facts());
        let now = self.engine.reevaluate(operation, facts, GrantUseMode::Preview, &TerminalHost);
        now.ok().filter(|decision| decision.effect == Effect::Deny)
    }

    /// Returns whether the answer may be given. An approval needs the gate's permit for this
    /// operation.
    pub(super) fn apply_answer(
        &self,
        verdict: GateVerdict,
        request: &ApprovalRequest,
        answer: &CodexAnswer,
    ) -> bool {
        verdict.apply_answer(request, &answer.to_approval_response(), self.prepared.operation())
    }

    /// Records the decision and the person's answer.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub(super) fn record_decision(
        &self,
        decision: &Decision,
        said: Option<(&ApprovalRequest, &CodexAnswer)>,
    ) -> Result<u64, AuditError> {
        self.prepared
            .record_decision(decision, said.map(|(request, answer)| answer_record(request, answer)))
    }

    /// Records that the managed policy's error prevents every decision.
    ///
    /// # Errors
    /// If the record cannot be written.
    pub(super) fn record_policy_error(&self, why: &str) -> Result<u64, AuditError> {
        let (origin, operation) = (RecordOrigin::CODEX_REVIEW, self.prepared.operation());
        self.engine.audit_log().record_refusal(origin, operation, why)
    }
}

/// Returns the record of a person's answer, with the rule that Codex saves.
fn answer_record(request: &ApprovalRequest, answer: &CodexAnswer) -> audit::AnswerRecord {
    let rules = answer.rule_to_save().into_iter().collect::<Vec<_>>();
    let kept = (!rules.is_empty()).then(|| audit::GrantRecord { rules, ..Default::default() });
    let said = audit::AnswerRecord::new(
        request,
        &answer.to_approval_response(),
        AnswerChannel::Terminal,
        None,
    );
    audit::AnswerRecord { grant: kept, ..said }
}

/// Returns the arguments of the policy in this directory.
pub(super) fn new_policy_args(args: &CodexReviewArgs, cwd: Option<&Path>) -> PolicyArgs {
    PolicyArgs {
        policy: args.policy.clone(),
        cwd: cwd.map(Path::to_owned),
        ..PolicyArgs::default()
    }
}
