//! Checking a call: hooks, limited grants, the gate, a reviewer, the audit record.

use std::sync::Arc;

use openoxide_permission::{
    HookEvent, PermissionGate, Permit, PolicyStack, Question, Refusal, Step, after_hooks,
};
use openoxide_protocol::{
    Action, ApprovalRequest, ApprovalResponse, Decision, Effect, Facts, HookAnswer, Operation,
    Presentation,
};
use openoxide_store::audit::{self, AuditError, Decided, Enforced};

use crate::{
    CheckHost, Engine, HookCall, InterruptedError, Place, RecordOrigin, ReviewResult, Warning,
    audit_log::gate_record, audit_violation, digest, facts, facts_of, hook_runner::run_hooks,
    limited_grants::GrantUse, new_approval_id, present, title,
};

/// How an operation is checked and shown.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Which command checks it.
    pub origin: RecordOrigin,
    /// The actions that it performs besides its own.
    pub also: Vec<Action>,
    /// The title of a question about it; without one, it is made of the operation.
    pub title: Option<String>,
    /// The presentation for a reviewer; without one, it is made of the operation.
    pub presentation: Option<Presentation>,
    /// Whether nothing but a reviewer's answer to this very question allows it.
    pub explicit_yes_required: bool,
    /// How it will be confined if it is allowed, for the record.
    pub enforced: Enforced,
}

impl CheckOptions {
    /// Returns the options for an operation that is checked and shown as it is.
    #[must_use]
    pub fn new(origin: RecordOrigin, enforced: Enforced) -> Self {
        let (also, title, presentation) = (Vec::new(), None, None);
        Self { origin, also, title, presentation, explicit_yes_required: false, enforced }
    }
}

/// The result of a check.
#[derive(Debug)]
pub enum CheckOutcome<'e> {
    /// The operation may be executed, once.
    Allowed(ExecutionPermit),
    /// It may not.
    Denied(Refusal),
    /// A reviewer has to answer first.
    NeedsApproval(Box<PendingApproval<'e>>),
}

/// Permission to execute one operation once.
#[must_use]
#[derive(Debug)]
pub struct ExecutionPermit {
    permit: Permit,
    operation: Box<Operation>,
    record: Option<u64>,
}

impl ExecutionPermit {
    /// Returns the decision that it was given by.
    pub const fn decision(&self) -> &Decision {
        self.permit.decision()
    }

    /// Returns the number of the audit record, if it could be written.
    #[must_use]
    pub const fn record(&self) -> Option<u64> {
        self.record
    }

    /// Returns the operation that it was given for.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Uses the permit up; returns whether it was given for this operation.
    #[must_use]
    pub fn redeem(self, operation: &Operation) -> bool {
        self.permit.redeem(digest(operation))
    }
}

/// An operation, what it does, and what the hooks answered about it.
///
/// The limited grants that allow it are used up by the time it exists.
#[derive(Debug)]
pub struct PreparedCall<'e> {
    engine: &'e Engine,
    operation: Operation,
    options: CheckOptions,
    facts: Facts,
    hooks: Vec<HookAnswer>,
    policy: Arc<PolicyStack>,
}

/// A question that a reviewer has to answer. Each is answered once.
#[must_use]
#[derive(Debug)]
pub struct PendingApproval<'e> {
    prepared: PreparedCall<'e>,
    gate: PermissionGate,
    request: ApprovalRequest,
    is_last: bool,
}

/// The decision of the gate about a prepared call, before it is recorded.
#[derive(Debug)]
pub struct GateVerdict {
    /// The decision.
    pub step: Step,
    gate: PermissionGate,
}

impl GateVerdict {
    /// Gives a reviewer's answer to the gate; returns whether it permits this very operation.
    #[must_use]
    pub fn permits(
        mut self,
        request: &ApprovalRequest,
        response: &ApprovalResponse,
        operation: &Operation,
    ) -> bool {
        let settled = self.gate.answer(request.id, response);
        let permit = settled.ok().and_then(|settled| settled.into_iter().next()?.outcome.ok());
        permit.is_some_and(|permit| permit.redeem(digest(operation)))
    }
}

impl Engine {
    /// Checks an operation: runs its hooks, uses limited grants up, asks the gate, and records the decision. If the policy requires the
    /// record and it cannot be written, the operation needs a reviewer's approval.
    ///
    /// # Errors
    /// When the hooks were interrupted: nothing was decided.
    pub fn check(
        &self,
        operation: Operation,
        options: CheckOptions,
        host: &dyn CheckHost,
    ) -> Result<CheckOutcome<'_>, InterruptedError> {
        Ok(self.prepare(operation, options, host)?.decide(host))
    }

    /// Runs the hooks of an operation and uses limited grants up. Nothing is decided or recorded yet.
    ///
    /// # Errors
    /// When the hooks were interrupted.
    pub fn prepare(
        &self,
        operation: Operation,
        options: CheckOptions,
        host: &dyn CheckHost,
    ) -> Result<PreparedCall<'_>, InterruptedError> {
        let facts = self.facts_with(&operation, &options.also);
        let hooks = self.hook_answers(&operation, &facts, host)?;
        let context = self.context_in(&operation.cwd, &self.roots);
        let policy = self.policy_for(&context, &facts, GrantUse::Spend, host);
        let policy = Arc::new(policy.clone());
        Ok(PreparedCall { engine: self, operation, options, facts, hooks, policy })
    }

    fn facts_with(&self, operation: &Operation, also: &[Action]) -> Facts {
        let mut all = facts(operation, self.home());
        for action in also {
            let place = Place { cwd: &operation.cwd, home: self.home() };
            let also = facts_of(action, &operation.tool, place);
            all.accesses.extend(also.accesses);
            all.findings.extend(also.findings);
        }
        all
    }

    /// Runs the hooks that an operation concerns and, where a person would be asked, those that answer in their place.
    fn hook_answers(
        &self,
        operation: &Operation,
        facts: &Facts,
        host: &dyn CheckHost,
    ) -> Result<Vec<HookAnswer>, InterruptedError> {
        let project = self.roots.first().unwrap_or(&self.options.cwd);
        let before = HookCall::of(operation, project, self.mode, facts);
        let request = HookCall { event: HookEvent::PermissionRequest, ..before.clone() };
        let hooks = &self.loaded.hooks;
        let mut answers = run_hooks(hooks, &before, host)?;
        if hooks.iter().any(|hook| hook.concerns(request.event, request.tool)) {
            let context = self.context_in(&operation.cwd, &self.roots);
            let policy = self.policy_without_use(&context, facts);
            if after_hooks(policy, &context, facts, &answers).effect == Effect::Ask {
                answers.extend(run_hooks(hooks, &request, host)?);
            }
        }
        Ok(answers)
    }
}

impl<'e> PreparedCall<'e> {
    /// Returns what the operation does.
    #[must_use]
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the operation.
    #[must_use]
    pub const fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Decides, and records the decision.
    #[must_use]
    pub fn decide(self, host: &dyn CheckHost) -> CheckOutcome<'e> {
        self.attempt(None, host)
    }

    /// Returns what the gate decides, without recording it: for a client whose request may be answered elsewhere before the decision
    /// takes effect. With an `audit_violation`, nothing but a reviewer's answer allows it.
    #[must_use]
    pub fn judge(&self, audit_violation: Option<&str>) -> GateVerdict {
        let problem = audit_violation.or(self.engine.policy_problem()).map(str::to_owned);
        let (policy, roots) = (Arc::clone(&self.policy), self.engine.roots.clone());
        let mut gate = PermissionGate::new(policy, self.engine.mode, roots).in_doubt(problem);
        let step = gate.check(self.question(audit_violation.is_some()));
        GateVerdict { step, gate }
    }

    /// Records a decision of [`Self::judge`], with the answer of a reviewer.
    ///
    /// # Errors
    /// When the record could not be written.
    pub fn record(
        &self,
        decision: &Decision,
        answer: Option<audit::Answer>,
    ) -> Result<u64, AuditError> {
        let decided = Decided { answer, ..Decided::new(decision, self.engine.mode) };
        let decided = Decided { hooks: self.hooks.clone(), ..decided };
        self.engine.audit.record_operation(self.options.origin, &self.operation, decided)
    }

    fn attempt(self, violation: Option<&str>, host: &dyn CheckHost) -> CheckOutcome<'e> {
        let is_last = violation.is_some();
        let GateVerdict { step, gate } = self.judge(violation);
        match step {
            Step::Proceed(permit) => self.conclude(Ok(permit), None, is_last, host),
            Step::Refuse(refusal) => self.conclude(Err(refusal), None, is_last, host),
            Step::Ask(request) => CheckOutcome::NeedsApproval(Box::new(PendingApproval {
                prepared: self,
                gate,
                request: *request,
                is_last,
            })),
        }
    }

    /// Records a verdict. What must be recorded and cannot be is decided again, as if the policy had errors: then nothing but a
    /// reviewer's answer to that very question allows it.
    fn conclude(
        self,
        verdict: Result<Permit, Refusal>,
        review: Option<&ReviewResult>,
        is_last: bool,
        host: &dyn CheckHost,
    ) -> CheckOutcome<'e> {
        let decided = gate_record(verdict.as_ref(), review, self.engine.mode);
        let enforced = if verdict.is_ok() { self.options.enforced } else { Enforced::NotConfined };
        let written = self.write(Decided { enforced, ..decided });
        if let Ok(permit) = &verdict
            && !is_last
            && let Some(why) = audit_violation(permit.decision(), &written)
        {
            return self.attempt(Some(&why), host);
        }
        let record = warn_on_error(written, host);
        match verdict {
            Ok(permit) => {
                let operation = Box::new(self.operation);
                CheckOutcome::Allowed(ExecutionPermit { permit, operation, record })
            }
            Err(refusal) => CheckOutcome::Denied(refusal),
        }
    }

    fn write(&self, decided: Decided) -> Result<u64, AuditError> {
        let task = self.engine.grants.as_ref().and_then(|grants| grants.task());
        let task = task.map(str::to_owned);
        let decided = Decided { hooks: self.hooks.clone(), task, ..decided };
        self.engine.audit.record_operation(self.options.origin, &self.operation, decided)
    }

    fn question(&self, explicit_yes_required: bool) -> Question {
        let (operation, options) = (self.operation.clone(), &self.options);
        Question {
            facts: self.facts.clone(),
            digest: digest(&operation),
            id: new_approval_id(),
            presentation: options.presentation.clone().unwrap_or_else(|| present(&operation)),
            title: options.title.clone().unwrap_or_else(|| title(&operation)),
            group: None,
            explicit_yes_required: explicit_yes_required || options.explicit_yes_required,
            hooks: self.hooks.clone(),
            covers: Default::default(),
            operation,
        }
    }
}

impl<'e> PendingApproval<'e> {
    /// Returns the question.
    #[must_use]
    pub const fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// Takes the answer of a reviewer, and records it.
    #[must_use]
    pub fn answer(mut self, review: &ReviewResult, host: &dyn CheckHost) -> CheckOutcome<'e> {
        let settled = self.gate.answer(self.request.id, &review.response()).ok();
        let settled = settled.and_then(|settled| settled.into_iter().next());
        let verdict = settled.map_or(Err(Refusal::Cancelled), |settled| settled.outcome);
        self.prepared.conclude(verdict, Some(review), self.is_last, host)
    }

    /// Records that no reviewer can be asked; returns the question.
    #[must_use]
    pub fn give_up(self, host: &dyn CheckHost) -> ApprovalRequest {
        let decided = Decided::new(&self.request.decision, self.prepared.engine.mode);
        let enforced = Enforced::NotConfined;
        let written = self.prepared.write(Decided { enforced, ..decided });
        warn_on_error(written, host);
        self.request
    }
}

/// Returns the number of a record; warns if it could not be written.
fn warn_on_error(written: Result<u64, AuditError>, host: &dyn CheckHost) -> Option<u64> {
    written.map_err(|error| host.warn(Warning::NotRecorded(error))).ok()
}

#[cfg(test)]
mod tests;
