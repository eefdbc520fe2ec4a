//! Checking a call: hooks, limited grants, the gate, a reviewer, the audit record.

use std::{collections::BTreeSet, fs, os::unix::fs::MetadataExt as _, sync::Arc};

use openoxide_permission::{
    CheckRequest, GateOutcome, HookEvent, OperationRefusal, PermissionGate, Permit, PolicyStack,
    evaluate_with_hooks,
};
use openoxide_protocol::{
    AbsPath, Access, AccessRoute, Action, ApprovalRequest, ApprovalResponse, Decision, Effect,
    HookAnswer, Operation, OperationFacts, RequestPresentation,
};
use openoxide_store::audit::{self, AuditError, DecisionRecord, RequestedConfinement};

use crate::{
    audit_log::{RecordOrigin, audit_violation_reason, gate_decision_record},
    check_host::CheckHost,
    command_input::working_directory,
    digest::digest_operation,
    engine::Engine,
    engine_warning::EngineWarning,
    error::InterruptedError,
    hook_runner::run_hooks,
    hooks::HookCall,
    ids::new_approval_id,
    limited_grants::GrantUseMode,
    not_permitted_error::denied_without_evaluation,
    operation_facts::{CallLocation, collect_action_facts, collect_operation_facts},
    presentation::{operation_title, present_operation},
    review_record::ReviewRecord,
};

/// The options for checking and presenting an operation.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The command that performs the check.
    pub origin: RecordOrigin,
    /// The actions that the operation performs in addition to its own.
    pub extra_actions: Vec<Action>,
    /// The title of the approval request [default: derived from the operation].
    pub title: Option<String>,
    /// The presentation for a reviewer [default: derived from the operation].
    pub presentation: Option<RequestPresentation>,
    /// True if only a reviewer's answer to this request can allow the operation.
    pub requires_explicit_approval: bool,
    /// The confinement of the operation if it is allowed, for the audit record.
    pub confinement: RequestedConfinement,
    /// The directories whose changes a reviewer has approved for the session.
    pub approved_directories: Vec<AbsPath>,
    /// The directory whose changes a reviewer can approve for the session.
    pub offered_directory: Option<AbsPath>,
    /// The edited files that are data of a repository and that a confined command has written.
    pub repository_data: BTreeSet<AbsPath>,
}

impl CheckOptions {
    /// Returns the options for an operation without additional actions.
    #[must_use]
    pub fn new(origin: RecordOrigin, confinement: RequestedConfinement) -> Self {
        let (extra_actions, title, presentation) = (Vec::new(), None, None);
        Self {
            origin,
            extra_actions,
            title,
            presentation,
            requires_explicit_approval: false,
            confinement,
            approved_directories: Vec::new(),
            offered_directory: None,
            repository_data: BTreeSet::new(),
        }
    }
}

/// The result of a check.
#[derive(Debug)]
pub enum CheckOutcome<'e> {
    /// The operation may be executed, once.
    Allowed(ExecutionPermit),
    /// The operation may not be executed.
    Denied(OperationRefusal),
    /// A reviewer has to answer first.
    NeedsApproval(Box<PendingApproval<'e>>),
}

/// Permission to execute one operation once.
#[must_use]
#[derive(Debug)]
pub struct ExecutionPermit {
    permit: Permit,
    operation: Box<Operation>,
    record_seq: Option<u64>,
    directory: DirectoryIdentity,
}

/// The directory that a path led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryIdentity(Option<(u64, u64)>);

impl DirectoryIdentity {
    /// Returns the identity of the directory that a path leads to now.
    pub(crate) fn at(path: &AbsPath) -> Self {
        let found = fs::metadata(path.as_str()).ok();
        Self(found.map(|found| (found.dev(), found.ino())))
    }
}

impl ExecutionPermit {
    pub(crate) fn new(
        permit: Permit,
        operation: Operation,
        record_seq: Option<u64>,
        directory: DirectoryIdentity,
    ) -> Self {
        Self { permit, operation: Box::new(operation), record_seq, directory }
    }

    /// Returns the decision that gave the permit.
    pub const fn decision(&self) -> &Decision {
        self.permit.decision()
    }

    /// Returns the number of the audit record, if it could be written.
    #[must_use]
    pub const fn record_seq(&self) -> Option<u64> {
        self.record_seq
    }

    /// Returns the permitted operation.
    #[must_use]
    pub fn operation(&self) -> &Operation {
        &self.operation
    }

    /// Returns whether the working directory is still the one in which the operation was checked.
    pub(crate) fn is_in_same_directory(&self) -> bool {
        DirectoryIdentity::at(&self.operation.cwd) == self.directory
    }

    /// Uses the permit, and returns the operation that may now be executed once. A tool executes
    /// the input of this operation, which is the one that was approved.
    #[must_use]
    pub fn into_operation(self) -> Operation {
        *self.operation
    }

    /// Uses the permit, and returns whether it was given for this operation.
    #[must_use]
    pub fn redeem_for(self, operation: &Operation) -> bool {
        self.permit.redeem(digest_operation(operation))
    }
}

/// An operation with its facts and the answers of the hooks.
///
/// The limited grants that allow it have been used.
#[derive(Debug)]
pub struct PreparedCall<'e> {
    engine: &'e Engine,
    operation: Operation,
    options: CheckOptions,
    facts: OperationFacts,
    hook_answers: Vec<HookAnswer>,
    policy: Arc<PolicyStack>,
    directory: DirectoryIdentity,
}

/// An approval request that a reviewer has to answer once.
#[must_use]
#[derive(Debug)]
pub struct PendingApproval<'e> {
    prepared_call: PreparedCall<'e>,
    gate: PermissionGate,
    request: ApprovalRequest,
    is_final: bool,
}

/// The decision of the gate about a prepared call, before it is recorded.
#[derive(Debug)]
pub struct GateVerdict {
    /// The decision.
    pub outcome: GateOutcome,
    gate: PermissionGate,
}

impl GateVerdict {
    /// Passes a reviewer's answer to the gate, and returns whether it permits this operation.
    #[must_use]
    pub fn apply_answer(
        mut self,
        request: &ApprovalRequest,
        response: &ApprovalResponse,
        operation: &Operation,
    ) -> bool {
        let settled = self.gate.answer(request.id, response);
        let permit = settled.ok().and_then(|settled| settled.into_iter().next()?.outcome.ok());
        permit.is_some_and(|permit| permit.redeem(digest_operation(operation)))
    }
}

impl Engine {
    /// Checks an operation: runs its hooks, uses limited grants, asks the gate, and records the
    /// decision. If the policy requires the record and it cannot be written, the operation needs a
    /// reviewer's approval. If the managed policy has errors, the operation is denied.
    ///
    /// # Errors
    /// If the hooks were interrupted. Nothing was decided then.
    pub fn check(
        &self,
        operation: Operation,
        options: CheckOptions,
        host: &dyn CheckHost,
    ) -> Result<CheckOutcome<'_>, InterruptedError> {
        if let Some(why) = self.managed_policy_error() {
            warn_on_error(self.audit_log.record_refusal(options.origin, &operation, why), host);
            let decision = Box::new(denied_without_evaluation(why));
            return Ok(CheckOutcome::Denied(OperationRefusal::Denied(decision)));
        }
        Ok(self.prepare_call(operation, options, host)?.decide(host))
    }

    /// Runs the hooks of an operation and uses limited grants. This decides and records nothing.
    ///
    /// # Errors
    /// If the hooks were interrupted.
    pub fn prepare_call(
        &self,
        operation: Operation,
        options: CheckOptions,
        host: &dyn CheckHost,
    ) -> Result<PreparedCall<'_>, InterruptedError> {
        // Before the facts: if the directory is replaced meanwhile, the permit is not used.
        let directory = DirectoryIdentity::at(&operation.cwd);
        let mut facts = self.facts_with_actions(&operation, &options.extra_actions);
        mark_repository_data(&mut facts, &options.repository_data);
        let hooks = self.run_call_hooks(&operation, &facts, host)?;
        let context = self.directory_context(&operation.cwd, &self.roots);
        let policy = self.operation_policy(&context, &facts, GrantUseMode::Spend, host);
        let policy = Arc::new(policy.clone());
        let engine = self;
        Ok(PreparedCall {
            engine,
            operation,
            options,
            facts,
            hook_answers: hooks,
            policy,
            directory,
        })
    }

    /// Returns a call of an agent with the facts and hook answers that are already known.
    pub(crate) fn prepare_agent_call(
        &self,
        operation: Operation,
        options: CheckOptions,
        (facts, hook_answers): (OperationFacts, Vec<HookAnswer>),
        policy: PolicyStack,
    ) -> PreparedCall<'_> {
        let directory = DirectoryIdentity::at(&operation.cwd);
        let (engine, policy) = (self, Arc::new(policy));
        PreparedCall { engine, operation, options, facts, hook_answers, policy, directory }
    }

    fn facts_with_actions(&self, operation: &Operation, also: &[Action]) -> OperationFacts {
        let mut all = collect_operation_facts(operation, self.home());
        let named = working_directory(&operation.input, &operation.cwd);
        let place =
            CallLocation { cwd: named.as_ref().unwrap_or(&operation.cwd), home: self.home() };
        for action in also {
            let also = collect_action_facts(action, &operation.tool, place);
            all.accesses.extend(also.accesses);
            all.findings.extend(also.findings);
        }
        all
    }

    /// Runs the hooks that apply to an operation and, if a person would be asked, those that answer
    /// permission requests.
    fn run_call_hooks(
        &self,
        operation: &Operation,
        facts: &OperationFacts,
        host: &dyn CheckHost,
    ) -> Result<Vec<HookAnswer>, InterruptedError> {
        let project = self.roots.first().unwrap_or(&self.options.cwd);
        let before = HookCall::from_operation(operation, project, self.mode, facts);
        let request = HookCall { event: HookEvent::PermissionRequest, ..before.clone() };
        let hooks = &self.loaded_policy.hooks;
        let mut answers = run_hooks(hooks, &before, host)?;
        if hooks.iter().any(|hook| hook.applies_to(request.event, request.tool)) {
            let context = self.directory_context(&operation.cwd, &self.roots);
            let policy = self.policy_without_spending(&context, facts);
            if evaluate_with_hooks(policy, &context, facts, &answers).effect == Effect::Ask {
                answers.extend(run_hooks(hooks, &request, host)?);
            }
        }
        Ok(answers)
    }
}

/// Marks the changes of data of a repository. A path that leads elsewhere is not marked.
fn mark_repository_data(facts: &mut OperationFacts, data: &BTreeSet<AbsPath>) {
    for access in &mut facts.accesses {
        if let Access::Edit(path) = access
            && path.resolved.is_none()
            && data.contains(&path.path)
        {
            path.route = AccessRoute::RepositoryData;
        }
    }
}

impl<'e> PreparedCall<'e> {
    /// Returns the facts about the operation.
    #[must_use]
    pub const fn facts(&self) -> &OperationFacts {
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
        self.decide_with_violation(None, host)
    }

    /// Returns the decision of the gate without recording it, for a client whose request may be
    /// answered elsewhere before the decision takes effect. With an `audit_violation`, only a
    /// reviewer's answer allows the operation.
    #[must_use]
    pub fn check_gate(&self, audit_violation: Option<&str>) -> GateVerdict {
        let problem = audit_violation.or(self.engine.policy_error()).map(str::to_owned);
        let (policy, roots) = (Arc::clone(&self.policy), self.engine.roots.clone());
        let mut gate = PermissionGate::new(policy, self.engine.effective_mode(), roots)
            .with_policy_error(problem)
            .with_auto_allow(self.engine.auto_allow(self.engine.mode));
        gate.approve_directories(self.operation.session, &self.options.approved_directories);
        let step = gate.check(self.check_request(audit_violation.is_some()));
        GateVerdict { outcome: step, gate }
    }

    /// Records a decision of [`Self::check_gate`], with the answer of a reviewer.
    ///
    /// # Errors
    /// If the record could not be written.
    pub fn record_decision(
        &self,
        decision: &Decision,
        answer: Option<audit::AnswerRecord>,
    ) -> Result<u64, AuditError> {
        let decided = DecisionRecord { answer, ..DecisionRecord::new(decision, self.engine.mode) };
        let decided = DecisionRecord { hooks: self.hook_answers.clone(), ..decided };
        self.engine.audit_log.record_operation(self.options.origin, &self.operation, decided)
    }

    fn decide_with_violation(
        self,
        violation: Option<&str>,
        host: &dyn CheckHost,
    ) -> CheckOutcome<'e> {
        let is_last = violation.is_some();
        let GateVerdict { outcome: step, gate } = self.check_gate(violation);
        match step {
            GateOutcome::Proceed(permit) => self.record_verdict(Ok(permit), None, is_last, host),
            GateOutcome::Refuse(refusal) => self.record_verdict(Err(refusal), None, is_last, host),
            GateOutcome::Ask(request) => {
                CheckOutcome::NeedsApproval(Box::new(self.into_pending(gate, *request, is_last)))
            }
        }
    }

    /// Returns the approval request of the call without recording anything, or `None` if the gate
    /// decides without a reviewer.
    pub(crate) fn into_pending_approval(self) -> Option<PendingApproval<'e>> {
        let GateVerdict { outcome, gate } = self.check_gate(None);
        match outcome {
            GateOutcome::Ask(request) => Some(self.into_pending(gate, *request, false)),
            GateOutcome::Proceed(_) | GateOutcome::Refuse(_) => None,
        }
    }

    fn into_pending(
        self,
        gate: PermissionGate,
        request: ApprovalRequest,
        is_final: bool,
    ) -> PendingApproval<'e> {
        let request = ApprovalRequest { task: self.engine.current_task(), ..request };
        PendingApproval { prepared_call: self, gate, request, is_final }
    }

    /// Records a verdict. If a required record cannot be written, the operation is decided again as
    /// if the policy had errors. Then only a reviewer's answer to this request allows it.
    fn record_verdict(
        self,
        verdict: Result<Permit, OperationRefusal>,
        review: Option<&ReviewRecord>,
        is_last: bool,
        host: &dyn CheckHost,
    ) -> CheckOutcome<'e> {
        let decided = gate_decision_record(verdict.as_ref(), review, self.engine.mode);
        let enforced = if verdict.is_ok() {
            self.options.confinement
        } else {
            RequestedConfinement::NotConfined
        };
        let written = self.append_record(DecisionRecord { confinement: enforced, ..decided });
        if let Ok(permit) = &verdict
            && !is_last
            && let Some(why) = audit_violation_reason(permit.decision(), &written)
        {
            return self.decide_with_violation(Some(&why), host);
        }
        let record = warn_on_error(written, host);
        match verdict {
            Ok(permit) => {
                let (operation, directory) = (Box::new(self.operation), self.directory);
                let record_seq = record;
                CheckOutcome::Allowed(ExecutionPermit { permit, operation, record_seq, directory })
            }
            Err(refusal) => CheckOutcome::Denied(refusal),
        }
    }

    fn append_record(&self, decided: DecisionRecord) -> Result<u64, AuditError> {
        let task = self.engine.current_task();
        let decided = DecisionRecord { hooks: self.hook_answers.clone(), task, ..decided };
        self.engine.audit_log.record_operation(self.options.origin, &self.operation, decided)
    }

    fn check_request(&self, requires_explicit_approval: bool) -> CheckRequest {
        let (operation, options) = (self.operation.clone(), &self.options);
        CheckRequest {
            facts: self.facts.clone(),
            digest: digest_operation(&operation),
            id: new_approval_id(),
            presentation: options
                .presentation
                .clone()
                .unwrap_or_else(|| present_operation(&operation)),
            title: options.title.clone().unwrap_or_else(|| operation_title(&operation)),
            group: None,
            requires_explicit_approval: requires_explicit_approval
                || options.requires_explicit_approval,
            hooks: self.hook_answers.clone(),
            coverage: Default::default(),
            offered_directory: options.offered_directory.clone(),
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

    pub(crate) const fn engine(&self) -> &'e Engine {
        self.prepared_call.engine
    }

    pub(crate) const fn operation(&self) -> &Operation {
        &self.prepared_call.operation
    }

    /// Returns the current facts about the operation, in addition to those that were checked. A
    /// link or a file may have changed since then.
    pub(crate) fn current_facts(&self) -> OperationFacts {
        let PreparedCall { operation, options, facts: checked, .. } = &self.prepared_call;
        let mut facts = self.engine().facts_with_actions(operation, &options.extra_actions);
        mark_repository_data(&mut facts, &options.repository_data);
        // Facts that did not change are in the same order.
        let is_missing = |(index, access): &(usize, &Access)| {
            facts.accesses.get(*index) != Some(access) && !facts.accesses.contains(access)
        };
        let missing = checked.accesses.iter().enumerate().filter(is_missing);
        let missing: Vec<_> = missing.map(|(_, access)| access.clone()).collect();
        facts.accesses.extend(missing);
        facts
    }

    /// Returns the facts that were checked, and that the request shows.
    pub(crate) const fn checked_facts(&self) -> &OperationFacts {
        &self.prepared_call.facts
    }

    /// Applies the answer of a reviewer, and records it. The review of another request is not an
    /// answer.
    #[must_use]
    pub fn answer(mut self, review: &ReviewRecord, host: &dyn CheckHost) -> CheckOutcome<'e> {
        let is_own = review.request.id == self.request.id;
        let response = if is_own { review.response() } else { ApprovalResponse::Denied };
        let settled = self.gate.answer(self.request.id, &response).ok();
        let settled = settled.and_then(|settled| settled.into_iter().next());
        let verdict = settled.map_or(Err(OperationRefusal::Cancelled), |settled| settled.outcome);
        self.prepared_call.record_verdict(verdict, Some(review), self.is_final, host)
    }

    /// Records that no reviewer can be asked, and returns the approval request.
    #[must_use]
    pub fn abandon(self, host: &dyn CheckHost) -> ApprovalRequest {
        let decided = DecisionRecord::new(&self.request.decision, self.prepared_call.engine.mode);
        let enforced = RequestedConfinement::NotConfined;
        let written =
            self.prepared_call.append_record(DecisionRecord { confinement: enforced, ..decided });
        warn_on_error(written, host);
        self.request
    }
}

/// Returns the number of a record, or warns that it could not be written.
pub(crate) fn warn_on_error(written: Result<u64, AuditError>, host: &dyn CheckHost) -> Option<u64> {
    written.map_err(|error| host.warn(EngineWarning::NotRecorded(error))).ok()
}

#[cfg(test)]
mod tests;
