//! What the policy says of a request: hooks, our analysis, the rules of the project that the conversation works in, the gate.

use std::path::Path;

use openoxide_adapters::codex::review::{Answer, Wanted};
use openoxide_engine::{
    CheckOptions, Engine, GateVerdict, GrantUse, InterruptedError, PreparedCall, RecordOrigin,
};
use openoxide_protocol::{AbsPath, ApprovalRequest, Decision, Effect, Facts};
use openoxide_store::audit::{self, AuditError, Channel, Enforced};

use crate::{
    args::{CodexReviewArgs, PolicyArgs},
    check_host::TerminalHost,
    error::CliError,
    policy_args,
};

/// One request under the policy of its project.
pub(super) struct Case<'e> {
    engine: &'e Engine,
    prepared: PreparedCall<'e>,
}

/// Opens the engine for the project of a conversation.
///
/// # Errors
/// When the policy cannot be found.
pub(super) fn open(args: &CodexReviewArgs, project: &AbsPath) -> Result<Engine, CliError> {
    let args = policy_args(args, Some(Path::new(project.as_str())));
    policy_args::open_for_execution(&args, None)
}

impl<'e> Case<'e> {
    /// Finds out what is meant, and asks the hooks.
    ///
    /// # Errors
    /// When a signal to end came meanwhile.
    pub(super) fn open(engine: &'e Engine, wanted: Wanted) -> Result<Self, InterruptedError> {
        let options = CheckOptions {
            also: wanted.also,
            title: Some(wanted.title),
            presentation: Some(wanted.presentation),
            explicit_yes_required: wanted.personal.is_some(),
            ..CheckOptions::new(RecordOrigin::CODEX_REVIEW, Enforced::default())
        };
        let prepared = engine.prepare(wanted.operation, options, &TerminalHost)?;
        Ok(Self { engine, prepared })
    }

    /// Returns what the request does.
    pub(super) const fn facts(&self) -> &Facts {
        self.prepared.facts()
    }

    /// Asks the gate. With a `violation` nothing but a person's yes to this very request counts.
    pub(super) fn judge(&self, violation: Option<&str>) -> GateVerdict {
        self.prepared.judge(violation)
    }

    /// Says why nothing at all may be done, if that is so.
    pub(super) fn closed(&self) -> Option<&str> {
        self.engine.managed_policy_error()
    }

    /// Returns what the policy denies by now, whatever a person has said meanwhile.
    pub(super) fn denied_meanwhile(&self) -> Option<Decision> {
        let (operation, facts) = (self.prepared.operation(), self.prepared.facts());
        let now = self.engine.evaluate_now(operation, facts, GrantUse::Keep, &TerminalHost);
        now.ok().filter(|decision| decision.effect == Effect::Deny)
    }

    /// Says whether the answer may be given: a yes needs the gate's permit for this very operation.
    pub(super) fn permits(
        &self,
        verdict: GateVerdict,
        request: &ApprovalRequest,
        answer: &Answer,
    ) -> bool {
        verdict.permits(request, &answer.response(), self.prepared.operation())
    }

    /// Writes down what was decided, and what a person said.
    ///
    /// # Errors
    /// When it could not.
    pub(super) fn write(
        &self,
        decision: &Decision,
        said: Option<(&ApprovalRequest, &Answer)>,
    ) -> Result<u64, AuditError> {
        self.prepared.record(decision, said.map(|(request, answer)| written(request, answer)))
    }

    /// Writes down that nothing at all may be done.
    ///
    /// # Errors
    /// When it could not.
    pub(super) fn write_closed(&self, why: &str) -> Result<u64, AuditError> {
        let (origin, operation) = (RecordOrigin::CODEX_REVIEW, self.prepared.operation());
        self.engine.audit().record_refused(origin, operation, why)
    }
}

/// Returns the record of what a person said, with the rule that Codex keeps.
fn written(request: &ApprovalRequest, answer: &Answer) -> audit::Answer {
    let rules = answer.keeps().into_iter().collect::<Vec<_>>();
    let kept = (!rules.is_empty()).then(|| audit::Kept { rules, ..Default::default() });
    let said = audit::Answer::new(request, &answer.response(), Channel::Terminal, None);
    audit::Answer { kept, ..said }
}

/// Returns the arguments that name the policy, in this directory.
pub(super) fn policy_args(args: &CodexReviewArgs, cwd: Option<&Path>) -> PolicyArgs {
    PolicyArgs {
        policy: args.policy.clone(),
        cwd: cwd.map(Path::to_owned),
        ..PolicyArgs::default()
    }
}
