//! The gate: a state machine without I/O; a session drives it.
//!
//! `check` lets an operation pass, refuses it, or asks; `answer` takes a reviewer's answer and says which of the pending
//! requests ended with it. So does whatever else can end one: another mode, another policy, the end of its session. Who
//! drives the machine brings ids, digests and presentations along.

mod pending;
mod question;
mod sessions;
mod settle;

use std::sync::Arc;

use openoxide_protocol::{
    AbsPath, Access, ApprovalId, ApprovalRequest, ApprovalResponse, Decision, Effect, GrantScope,
    Obligation, Part, PermissionMode, ResolutionKind, SessionId,
};

pub use question::{Covers, GroupAnswer, NotPending, Permit, Question, Refusal, Settled, Step};

use crate::{evaluate::Context, hook::after_hooks, stack::PolicyStack};
use pending::{Pending, Waiting};
use sessions::Sessions;
use settle::{
    breaks_the_circuit, decided, explicitly, is_for_once, repeated, request, settle, shown,
};

const NO: ApprovalResponse = ApprovalResponse::Rejected { message: None };
const YES: ApprovalResponse = ApprovalResponse::approved(GrantScope::Once);

/// The gate of one or more sessions under one policy.
#[derive(Debug)]
pub struct PermissionGate {
    policy: Arc<PolicyStack>,
    roots: Vec<AbsPath>,
    doubt: Option<String>,
    sessions: Sessions,
    pending: Pending,
}

impl PermissionGate {
    /// Returns a gate without grants and without pending requests. A session has this mode until another is set.
    #[must_use]
    pub fn new(policy: Arc<PolicyStack>, mode: PermissionMode, roots: Vec<AbsPath>) -> Self {
        let (sessions, pending) = (Sessions::new(mode), Pending::default());
        Self { policy, roots, doubt: None, sessions, pending }
    }

    /// Says why the policy is in doubt: then nothing is allowed without a question.
    #[must_use]
    pub fn in_doubt(self, doubt: Option<String>) -> Self {
        Self { doubt, ..self }
    }

    /// Decides about an operation.
    pub fn check(&mut self, question: Question) -> Step {
        let decision = self.evaluate(&question);
        match decision.effect {
            Effect::Allow => Step::Proceed(Permit::new(&question, decision)),
            Effect::Deny => Step::Refuse(Refusal::Denied(Box::new(decision))),
            Effect::Ask => self.ask(question, decision),
        }
    }

    fn ask(&mut self, question: Question, decision: Decision) -> Step {
        if let Some(why) = self.pending.refuses(question.id, question.operation.session) {
            let (effect, reason, rule) = (Effect::Deny, why.to_owned(), None);
            let decision = Decision { effect, reason, rule, ..decision };
            return Step::Refuse(Refusal::Denied(Box::new(decision)));
        }
        let task = self.sessions.task(question.operation.session);
        let request = request(&question, decision, task);
        self.pending.add(question, request.clone());
        Step::Ask(Box::new(request))
    }

    /// Takes a reviewer's answer. The request itself comes first in what it returns; behind it stand those that ended with
    /// it: allowed by the grant that was given, or rejected along with it.
    ///
    /// # Errors
    /// When the request is not pending: each is answered once.
    pub fn answer(
        &mut self,
        id: ApprovalId,
        response: &ApprovalResponse,
    ) -> Result<Vec<Settled>, NotPending> {
        let waiting = self.pending.take(id).ok_or(NotPending(id))?;
        let session = waiting.request.session;
        let covered = self.remember(&waiting, response);
        let mut settled = vec![settle(waiting, ResolutionKind::Answered, response)];
        settled.extend(self.reconsider(covered));
        match response {
            ApprovalResponse::Cancelled => settled.extend(self.reject_all(session, response)),
            ApprovalResponse::Rejected { .. } => settled.extend(self.reject_all(session, &NO)),
            ApprovalResponse::Approved { .. } | ApprovalResponse::Denied => {}
        }
        Ok(settled)
    }

    /// Answers the pending requests of a group together (Aider's `ConfirmGroup`, seed 001's `group_id`). A group is one of
    /// a session: what another calls by the same name is not meant.
    pub fn answer_group(
        &mut self,
        session: SessionId,
        group: &str,
        answer: GroupAnswer,
    ) -> Vec<Settled> {
        let (response, explicit) = match answer {
            GroupAnswer::All => (YES, false),
            GroupAnswer::Skip => (ApprovalResponse::Denied, true),
        };
        let meant = |of: &&Waiting| {
            let request = &of.request;
            request.group.as_deref() == Some(group) && (explicit || !request.explicit_yes_required)
        };
        let ids: Vec<_> = self.pending.of(session).filter(meant).map(id).collect();
        self.end_each(ids, ResolutionKind::Answered, &response)
    }

    /// Takes a request back that nobody waits for any more: it is refused, and no other falls with it.
    ///
    /// # Errors
    /// When the request is not pending.
    pub fn withdraw(&mut self, id: ApprovalId) -> Result<Settled, NotPending> {
        let waiting = self.pending.take(id).ok_or(NotPending(id))?;
        Ok(settle(waiting, ResolutionKind::Withdrawn, &ApprovalResponse::Cancelled))
    }

    /// Sets the mode of a session, and through it of its subagents ([`crate::inherited`]). One that an administrator has
    /// taken away counts as `default`. Returns the pending requests that end with it: those that are allowed now, and
    /// those that are denied now.
    pub fn set_mode(&mut self, session: SessionId, mode: PermissionMode) -> Vec<Settled> {
        self.sessions.set_mode(session, mode);
        let family = self.sessions.family(session);
        let ids = family.into_iter().flat_map(|session| self.pending.of(session)).map(id);
        let ids = ids.collect();
        self.reconsider(ids)
    }

    /// Returns the mode in which a session is.
    #[must_use]
    pub fn mode(&self, session: SessionId) -> PermissionMode {
        self.policy.permitted(self.sessions.mode(session))
    }

    /// Puts another policy in force, such as that of a file that has changed (`PolicyWatch` in the store). Grants stay: they lift no deny. Returns the pending requests that end with it, as
    /// [`Self::set_mode`] does.
    pub fn set_policy(&mut self, policy: Arc<PolicyStack>, doubt: Option<String>) -> Vec<Settled> {
        self.policy = policy;
        self.doubt = doubt;
        let ids = self.pending.iter().map(id).collect();
        self.reconsider(ids)
    }

    /// Puts a new session below the one that started it: it inherits the mode, and ends with it. Grants do not pass.
    /// Says no, and changes nothing, where the session is known already.
    pub fn start_subagent(
        &mut self,
        parent: SessionId,
        session: SessionId,
        mode: Option<PermissionMode>,
    ) -> bool {
        self.pending.of(session).next().is_none() && self.sessions.start(parent, session, mode)
    }

    /// Says which task a session is about; none where its end cannot be told. A yes can hold until the task has ended, which it has
    /// with the next one, and with its session. Subagents have tasks of their own.
    pub fn set_task(&mut self, session: SessionId, task: Option<String>) {
        self.sessions.begin_task(session, task);
    }

    /// Ends a session and its subagents': their pending requests are cancelled, their grants and modes forgotten.
    pub fn end_session(&mut self, session: SessionId) -> Vec<Settled> {
        let family = self.sessions.end(session);
        let ids = family.into_iter().flat_map(|session| self.pending.of(session)).map(id);
        let ids = ids.collect();
        self.end_each(ids, ResolutionKind::Withdrawn, &ApprovalResponse::Cancelled)
    }

    /// Returns the requests that wait for an answer, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.pending.iter().map(|waiting| &waiting.request)
    }

    fn context<'a>(&'a self, question: &'a Question) -> Context<'a> {
        Context {
            mode: self.mode(question.operation.session),
            cwd: &question.operation.cwd,
            roots: &self.roots,
            doubt: self.doubt.as_deref(),
        }
    }

    fn evaluate(&self, question: &Question) -> Decision {
        let context = self.context(question);
        let decision = after_hooks(&self.policy, &context, &question.facts, &question.hooks);
        let decision =
            if decision.effect == Effect::Ask && self.is_granted(question, &decision, &context) {
                let reason = "it was granted in this session".to_owned();
                Decision { effect: Effect::Allow, reason, rule: None, ..decision }
            } else {
                decision
            };
        if question.explicit_yes_required { explicitly(decision, context.mode) } else { decision }
    }

    /// A grant for exactly this operation covers all of it, but no circuit breaker. A granted rule covers the parts that it
    /// allows, and keys cover all of it, unless something asks that no rule can answer: then nothing was offered to be
    /// remembered. A repetition is covered by its own rule alone, or else what was granted once could be repeated for ever.
    fn is_granted(&self, question: &Question, decision: &Decision, context: &Context<'_>) -> bool {
        if decision.obligations.contains(&Obligation::Human) {
            return false;
        }
        let grants = || self.sessions.grants(question.operation.session);
        let exactly = grants().any(|grants| grants.covers_exactly(question.digest))
            && !decision.findings.iter().any(breaks_the_circuit);
        let lasting = !decision.always.is_empty();
        let keyed = grants().any(|grants| grants.cover_keys(&question.covers.keys));
        let cover = |access: &Access| grants().any(|grants| grants.cover(context, access));
        let covered = |part: &Part| {
            let repeats = matches!(part.access, Access::DoomLoop { .. });
            part.decision == Effect::Allow
                || ((exactly || keyed) && !repeats)
                || ((exactly || lasting) && cover(&part.access))
        };
        (exactly || lasting) && decision.parts.iter().all(covered)
    }

    /// Keeps a lasting yes; returns the pending requests that it may cover.
    fn remember(&mut self, waiting: &Waiting, response: &ApprovalResponse) -> Vec<ApprovalId> {
        let Waiting { question, request } = waiting;
        let ApprovalResponse::Approved { scope, .. } = response else { return Vec::new() };
        if request.explicit_yes_required || *scope == GrantScope::Once {
            return Vec::new();
        }
        let session = request.session;
        let (mode, cwd) = (self.mode(session), &question.operation.cwd);
        let context = Context { mode, cwd, roots: &self.roots, doubt: None };
        // Whatever is kept, the session is known from now on, and cannot be put below another one.
        let _known = self.sessions.grants_mut(session);
        if *scope == GrantScope::Project {
            let Some(terms) = request.kept(response) else { return Vec::new() };
            let grants = self.sessions.grants_under(session, &terms, request.task.as_deref());
            let Some(grants) = grants else { return Vec::new() };
            grants.add_rules(&terms.rules, &context);
            return self.pending.of(session).map(id).collect();
        }
        let grants = self.sessions.grants_mut(session);
        let (keys, repeated) = (shown(question, request), repeated(request));
        grants.add_keys(&keys);
        if repeated.is_empty() {
            return self.pending.under(session, &keys).map(id).collect();
        }
        grants.add_rules(&repeated, &context);
        self.pending.of(session).map(id).collect()
    }

    /// Ends those requests that evaluating allows or denies now (OpenCode's retroactive resolution). What a policy wants a
    /// person's own yes for since it was shown is answered for this once.
    fn reconsider(&mut self, ids: Vec<ApprovalId>) -> Vec<Settled> {
        let mut settled = Vec::new();
        for id in ids {
            let Some(waiting) = self.pending.get(id) else { continue };
            let decision = self.evaluate(&waiting.question);
            if decision.effect == Effect::Ask {
                if let Some(waiting) = self.pending.get_mut(id) {
                    waiting.request.explicit_yes_required |= is_for_once(&decision);
                }
            } else if let Some(waiting) = self.pending.take(id) {
                settled.push(decided(&waiting, decision));
            }
        }
        settled
    }

    /// Ends every request of a session along with one that was rejected (OpenCode's cascading rejection).
    fn reject_all(&mut self, session: SessionId, response: &ApprovalResponse) -> Vec<Settled> {
        let ids = self.pending.of(session).map(id).collect();
        self.end_each(ids, ResolutionKind::Cascade, response)
    }

    fn end_each(
        &mut self,
        ids: Vec<ApprovalId>,
        kind: ResolutionKind,
        response: &ApprovalResponse,
    ) -> Vec<Settled> {
        let taken = ids.into_iter().filter_map(|id| self.pending.take(id));
        taken.map(|waiting| settle(waiting, kind, response)).collect()
    }
}

fn id(waiting: &Waiting) -> ApprovalId {
    waiting.request.id
}

#[cfg(test)]
mod tests;
