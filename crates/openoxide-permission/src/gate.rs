//! The permission gate: a state machine without I/O that a session drives.
//!
//! `check` allows an operation, refuses it, or asks. `answer` takes a reviewer's answer and returns
//! the pending requests that it resolves. A change of the mode or the policy and the end of a
//! session can resolve requests too. The caller supplies ids, digests and presentations.

mod check_request;
mod pending_queue;
mod request_resolution;
mod session_registry;

use std::sync::Arc;

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, ApprovalId, ApprovalRequest, ApprovalResponse, Decision,
    Effect, GrantScope, Obligation, PermissionMode, ResolutionKind, SandboxAutoAllow, SessionId,
};

pub use check_request::{
    CheckRequest, GateOutcome, GrantCoverage, GroupAnswer, NotPendingError, OperationRefusal,
    Permit, ResolvedRequest,
};

use crate::{evaluation::EvaluationContext, hook::evaluate_with_hooks, policy_stack::PolicyStack};
use pending_queue::{PendingQueue, QueuedRequest};
use request_resolution::{
    build_request, is_circuit_breaker, repetition_rules, requires_explicit_approval,
    resolve_request, resolve_without_answer, session_keys, with_explicit_approval,
};
use session_registry::SessionRegistry;

const REJECTED: ApprovalResponse = ApprovalResponse::Rejected { message: None };
const APPROVED_ONCE: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);

/// The gate of one or more sessions under one policy.
#[derive(Debug)]
pub struct PermissionGate {
    policy: Arc<PolicyStack>,
    roots: Vec<AbsPath>,
    policy_error: Option<String>,
    auto_allow: SandboxAutoAllow,
    sessions: SessionRegistry,
    pending: PendingQueue,
}

impl PermissionGate {
    /// Returns a gate without grants and without pending requests. Each session has this mode until
    /// another one is set.
    #[must_use]
    pub fn new(policy: Arc<PolicyStack>, mode: PermissionMode, roots: Vec<AbsPath>) -> Self {
        let (sessions, pending) = (SessionRegistry::new(mode), PendingQueue::default());
        let auto_allow = SandboxAutoAllow::Off;
        Self { policy, roots, policy_error: None, auto_allow, sessions, pending }
    }

    /// Sets the commands that need no approval, because the caller confines them by the sandbox.
    #[must_use]
    pub fn with_auto_allow(self, auto_allow: SandboxAutoAllow) -> Self {
        Self { auto_allow, ..self }
    }

    /// Sets the error that occurred while the policy was loaded. While it is set, nothing is
    /// allowed without a question.
    #[must_use]
    pub fn with_policy_error(self, doubt: Option<String>) -> Self {
        Self { policy_error: doubt, ..self }
    }

    /// Approves changes in these directories for a session, instead of those that were approved
    /// before.
    pub fn approve_directories(&mut self, session: SessionId, directories: &[AbsPath]) {
        self.sessions.grants_mut(session).set_directories(directories);
    }

    /// Decides on an operation.
    pub fn check(&mut self, question: CheckRequest) -> GateOutcome {
        let decision = self.evaluate(&question);
        match decision.effect {
            Effect::Allow => GateOutcome::Proceed(Permit::new(&question, decision)),
            Effect::Deny => GateOutcome::Refuse(OperationRefusal::Denied(Box::new(decision))),
            Effect::Ask => self.request_approval(question, decision),
        }
    }

    fn request_approval(&mut self, question: CheckRequest, decision: Decision) -> GateOutcome {
        if let Some(why) = self.pending.rejection_reason(question.id, question.operation.session) {
            let (effect, reason, rule) = (Effect::Deny, why.to_owned(), None);
            let decision = Decision { effect, reason, rule, ..decision };
            return GateOutcome::Refuse(OperationRefusal::Denied(Box::new(decision)));
        }
        let task = self.sessions.task(question.operation.session);
        let request = build_request(&question, decision, task);
        self.pending.push(question, request.clone());
        GateOutcome::Ask(Box::new(request))
    }

    /// Applies a reviewer's answer. Returns the answered request first, followed by the requests
    /// that the answer also resolved: those that the new grant allows, or those that were rejected
    /// together with it.
    ///
    /// # Errors
    /// Returns an error if the request is not pending. Each request is answered once.
    pub fn answer(
        &mut self,
        id: ApprovalId,
        response: &ApprovalResponse,
    ) -> Result<Vec<ResolvedRequest>, NotPendingError> {
        let waiting = self.pending.remove(id).ok_or(NotPendingError(id))?;
        let session = waiting.request.session;
        let covered = self.save_grant(&waiting, response);
        let mut settled = vec![resolve_request(waiting, ResolutionKind::Answered, response)];
        settled.extend(self.reevaluate_requests(covered));
        match response {
            ApprovalResponse::Cancelled => settled.extend(self.resolve_session(session, response)),
            ApprovalResponse::Rejected { .. } => {
                settled.extend(self.resolve_session(session, &REJECTED));
            }
            ApprovalResponse::Approved { .. } | ApprovalResponse::Denied => {}
        }
        Ok(settled)
    }

    /// Answers the pending requests of a group together, as Aider's `ConfirmGroup` does. A group
    /// belongs to one session. A group with the same name in another session is not affected.
    pub fn answer_group(
        &mut self,
        session: SessionId,
        group: &str,
        answer: GroupAnswer,
    ) -> Vec<ResolvedRequest> {
        let (response, explicit) = match answer {
            GroupAnswer::All => (APPROVED_ONCE, false),
            GroupAnswer::Skip => (ApprovalResponse::Denied, true),
        };
        let meant = |of: &&QueuedRequest| {
            let request = &of.request;
            request.group.as_deref() == Some(group)
                && (explicit || !request.requires_explicit_approval)
        };
        let ids: Vec<_> =
            self.pending.find_by_session(session).filter(meant).map(request_id).collect();
        self.resolve_each(ids, ResolutionKind::Answered, &response)
    }

    /// Withdraws an obsolete pending request. It is refused. Other requests are not affected.
    ///
    /// # Errors
    /// Returns an error if the request is not pending.
    pub fn withdraw(&mut self, id: ApprovalId) -> Result<ResolvedRequest, NotPendingError> {
        let waiting = self.pending.remove(id).ok_or(NotPendingError(id))?;
        Ok(resolve_request(waiting, ResolutionKind::Withdrawn, &ApprovalResponse::Cancelled))
    }

    /// Sets the mode of a session, and through it of its subagents ([`crate::inherit_mode`]). A
    /// mode that an administrator has disabled becomes `default`. Returns the pending requests that
    /// this resolves: those that are now allowed, and those that are now denied.
    pub fn set_mode(&mut self, session: SessionId, mode: PermissionMode) -> Vec<ResolvedRequest> {
        self.sessions.set_mode(session, mode);
        let family = self.sessions.session_tree(session);
        let ids = family
            .into_iter()
            .flat_map(|session| self.pending.find_by_session(session))
            .map(request_id);
        let ids = ids.collect();
        self.reevaluate_requests(ids)
    }

    /// Returns the mode of a session.
    #[must_use]
    pub fn mode(&self, session: SessionId) -> PermissionMode {
        self.policy.effective_mode(self.sessions.mode(session))
    }

    /// Replaces the policy, for example after its file has changed (`WatchedPolicy` in the store).
    /// Grants are kept, because they never override a deny. Returns the pending requests that this
    /// resolves, as [`Self::set_mode`] does.
    pub fn set_policy(
        &mut self,
        policy: Arc<PolicyStack>,
        doubt: Option<String>,
    ) -> Vec<ResolvedRequest> {
        self.policy = policy;
        self.policy_error = doubt;
        let ids = self.pending.iter().map(request_id).collect();
        self.reevaluate_requests(ids)
    }

    /// Registers a new session as a subagent of another one. It inherits the mode and ends with its
    /// parent, but does not inherit grants. Returns false, and changes nothing, if the session is
    /// already known.
    pub fn start_subagent(
        &mut self,
        parent: SessionId,
        session: SessionId,
        mode: Option<PermissionMode>,
    ) -> bool {
        self.pending.find_by_session(session).next().is_none()
            && self.sessions.add_subagent(parent, session, mode)
    }

    /// Sets the current task of a session, or `None` if the end of the task cannot be determined. A
    /// grant can be valid until the task ends, which happens when the next task begins or the
    /// session ends. Subagents have separate tasks.
    pub fn set_task(&mut self, session: SessionId, task: Option<String>) {
        self.sessions.begin_task(session, task);
    }

    /// Ends a session and its subagents. Cancels their pending requests and removes their grants
    /// and modes.
    pub fn end_session(&mut self, session: SessionId) -> Vec<ResolvedRequest> {
        let family = self.sessions.remove(session);
        let ids = family
            .into_iter()
            .flat_map(|session| self.pending.find_by_session(session))
            .map(request_id);
        let ids = ids.collect();
        self.resolve_each(ids, ResolutionKind::Withdrawn, &ApprovalResponse::Cancelled)
    }

    /// Returns the pending requests, oldest first.
    pub fn pending_requests(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.pending.iter().map(|waiting| &waiting.request)
    }

    fn context<'a>(&'a self, question: &'a CheckRequest) -> EvaluationContext<'a> {
        EvaluationContext {
            mode: self.mode(question.operation.session),
            cwd: &question.operation.cwd,
            roots: &self.roots,
            policy_error: self.policy_error.as_deref(),
            auto_allow: self.auto_allow,
        }
    }

    fn evaluate(&self, question: &CheckRequest) -> Decision {
        let context = self.context(question);
        let decision =
            evaluate_with_hooks(&self.policy, &context, &question.facts, &question.hooks);
        let decision =
            if decision.effect == Effect::Ask && self.is_granted(question, &decision, &context) {
                let reason = "it was granted in this session".to_owned();
                Decision { effect: Effect::Allow, reason, rule: None, ..decision }
            } else {
                decision
            };
        if question.requires_explicit_approval {
            with_explicit_approval(decision, context.mode)
        } else {
            decision
        }
    }

    /// Returns whether grants of the session cover the whole operation.
    ///
    /// A grant for exactly this operation covers all of it, except for circuit breakers. A granted
    /// rule covers the accesses that it allows. Keys cover the whole operation, unless it includes
    /// a question that no rule can answer: nothing could be remembered for such a question. A
    /// repetition is only covered by a separate rule; otherwise a granted call could be repeated
    /// without limit.
    fn is_granted(
        &self,
        question: &CheckRequest,
        decision: &Decision,
        context: &EvaluationContext<'_>,
    ) -> bool {
        if decision.obligations.contains(&Obligation::Human) {
            return false;
        }
        let grants = || self.sessions.grants(question.operation.session);
        let exactly = grants().any(|grants| grants.allows_operation(question.digest))
            && !decision.findings.iter().any(is_circuit_breaker);
        let lasting = !decision.suggested_rules.is_empty();
        let keyed = grants().any(|grants| grants.allows_keys(&question.coverage.keys));
        let cover =
            |access: &Access| grants().any(|grants| grants.granted_rules_allow(context, access));
        let in_directory =
            |part: &AccessDecision| grants().any(|grants| grants.directories_allow(context, part));
        let covered = |part: &AccessDecision| {
            let repeats = matches!(part.access, Access::Repetition { .. });
            part.decision == Effect::Allow
                || ((exactly || keyed) && !repeats)
                || ((exactly || lasting) && (cover(&part.access) || in_directory(part)))
        };
        (exactly || lasting) && decision.parts.iter().all(covered)
    }

    /// Saves the grant of an approval for more than one use. Returns the pending requests that it
    /// may cover.
    fn save_grant(
        &mut self,
        waiting: &QueuedRequest,
        response: &ApprovalResponse,
    ) -> Vec<ApprovalId> {
        let QueuedRequest { check_request: question, request } = waiting;
        let ApprovalResponse::Approved { scope, .. } = response else { return Vec::new() };
        if request.requires_explicit_approval || *scope == GrantScope::Once {
            return Vec::new();
        }
        let session = request.session;
        let (mode, cwd) = (self.mode(session), &question.operation.cwd);
        let context = EvaluationContext {
            mode,
            cwd,
            roots: &self.roots,
            policy_error: None,
            auto_allow: Default::default(),
        };
        // The session is registered even if nothing is saved, so that it cannot become a subagent
        // later.
        let _known = self.sessions.grants_mut(session);
        if *scope == GrantScope::Project {
            let Some(terms) = request.granted_terms(response) else { return Vec::new() };
            let grants = self.sessions.grants_for_terms(session, &terms, request.task.as_deref());
            let Some(grants) = grants else { return Vec::new() };
            grants.add_rules(&terms.rules, &context);
            return self.pending.find_by_session(session).map(request_id).collect();
        }
        let grants = self.sessions.grants_mut(session);
        if *scope == GrantScope::Directory {
            grants.set_directories(request.directory.as_slice());
            return self.pending.find_by_session(session).map(request_id).collect();
        }
        let (keys, repeated) = (session_keys(question, request), repetition_rules(request));
        grants.add_keys(&keys);
        if repeated.is_empty() {
            return self.pending.find_by_keys(session, &keys).map(request_id).collect();
        }
        grants.add_rules(&repeated, &context);
        self.pending.find_by_session(session).map(request_id).collect()
    }

    /// Resolves the requests that are now allowed or denied (OpenCode's retroactive resolution). If
    /// the policy has since made an operation require explicit approval, its request is marked
    /// accordingly.
    fn reevaluate_requests(&mut self, ids: Vec<ApprovalId>) -> Vec<ResolvedRequest> {
        let mut settled = Vec::new();
        for id in ids {
            let Some(waiting) = self.pending.get(id) else { continue };
            let decision = self.evaluate(&waiting.check_request);
            if decision.effect == Effect::Ask {
                if let Some(waiting) = self.pending.get_mut(id) {
                    waiting.request.requires_explicit_approval |=
                        requires_explicit_approval(&decision);
                }
            } else if let Some(waiting) = self.pending.remove(id) {
                settled.push(resolve_without_answer(&waiting, decision));
            }
        }
        settled
    }

    /// Resolves every request of a session after one of them was rejected (OpenCode's cascading
    /// rejection).
    fn resolve_session(
        &mut self,
        session: SessionId,
        response: &ApprovalResponse,
    ) -> Vec<ResolvedRequest> {
        let ids = self.pending.find_by_session(session).map(request_id).collect();
        self.resolve_each(ids, ResolutionKind::Cascade, response)
    }

    fn resolve_each(
        &mut self,
        ids: Vec<ApprovalId>,
        kind: ResolutionKind,
        response: &ApprovalResponse,
    ) -> Vec<ResolvedRequest> {
        let taken = ids.into_iter().filter_map(|id| self.pending.remove(id));
        taken.map(|waiting| resolve_request(waiting, kind, response)).collect()
    }
}

fn request_id(waiting: &QueuedRequest) -> ApprovalId {
    waiting.request.id
}

#[cfg(test)]
mod tests;
