//! The gate: a state machine without I/O; a session drives it.
//!
//! `check` lets an operation pass, refuses it, or asks; `answer` takes a reviewer's answer and says which of the pending
//! requests ended with it. Who drives the machine brings ids, digests and presentations along.

mod pending;

use std::sync::Arc;

use openoxide_protocol::{
    AbsPath, ApprovalId, ApprovalRequest, ApprovalResponse, Decision, Digest, Effect, Facts,
    Finding, FindingKind, GrantScope, HookAnswer, Obligation, Operation, PermissionMode,
    Presentation, Resolution, ResolutionKind, SCHEMA, SessionId,
};

use crate::{evaluate::Context, grant::Grants, hook::after_hooks, stack::PolicyStack};
use pending::Pending;

/// What the gate is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// The tool call.
    pub operation: Operation,
    /// What it means.
    pub facts: Facts,
    /// What a yes is bound to.
    pub digest: Digest,
    /// The id of the request, if a reviewer has to be asked.
    pub id: ApprovalId,
    /// What a reviewer would be shown.
    pub presentation: Presentation,
    /// One line that says what is wanted.
    pub title: String,
    /// Requests of one group can be answered together.
    pub group: Option<String>,
    /// Whether only a yes to this very request counts.
    pub explicit_yes_required: bool,
    /// What the hooks said of it; they were asked first.
    pub hooks: Vec<HookAnswer>,
}

/// The gate's answer to a question.
#[must_use]
#[derive(Debug)]
pub enum Step {
    /// It may run.
    Proceed(Permit),
    /// It may not.
    Refuse(Refusal),
    /// A reviewer is asked; the request is pending until it is answered.
    Ask(Box<ApprovalRequest>),
}

/// The right to run one operation, once. Only the gate makes one, it cannot be copied, and running a tool consumes it.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    digest: Digest, // INVARIANT: made in this module, for an operation that was allowed or approved.
    decision: Box<Decision>,
}

impl Permit {
    /// Returns what it was granted for.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the decision behind it.
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Uses the permit up. It says yes only for the very operation that it was granted for.
    #[must_use]
    pub fn redeem(self, digest: Digest) -> bool {
        self.digest == digest
    }
}

/// Why an operation may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A rule or a mode denies it (`DeniedError`).
    Denied(Box<Decision>),
    /// A reviewer said no (`RejectedError`), or another request of the session was rejected.
    Rejected,
    /// A reviewer said what to do instead (`CorrectedError`).
    Corrected {
        /// What to do instead.
        message: String,
    },
    /// A reviewer stopped the turn.
    Cancelled,
}

/// How a pending request ended, and what becomes of the operation.
#[must_use]
#[derive(Debug)]
pub struct Settled {
    /// For those who watch.
    pub resolution: Resolution,
    /// For the one who waits.
    pub outcome: Result<Permit, Refusal>,
}

/// No such request is pending: it was answered already, or never asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPending(pub ApprovalId);

impl std::fmt::Display for NotPending {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "no request {} is pending", self.0)
    }
}

impl std::error::Error for NotPending {}

/// The gate of one or more sessions under one policy.
#[derive(Debug)]
pub struct PermissionGate {
    policy: Arc<PolicyStack>,
    mode: PermissionMode,
    roots: Vec<AbsPath>,
    doubt: Option<String>,
    grants: Vec<(SessionId, Grants)>,
    pending: Pending,
}

impl PermissionGate {
    /// Returns a gate without grants and without pending requests.
    #[must_use]
    pub fn new(policy: Arc<PolicyStack>, mode: PermissionMode, roots: Vec<AbsPath>) -> Self {
        let (grants, pending) = (Vec::new(), Pending::default());
        Self { policy, mode, roots, doubt: None, grants, pending }
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
            Effect::Allow => Step::Proceed(permit(&question, decision)),
            Effect::Deny => Step::Refuse(Refusal::Denied(Box::new(decision))),
            Effect::Ask => {
                let request = request(&question, decision);
                self.pending.add(question, request.clone());
                Step::Ask(Box::new(request))
            }
        }
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
        let (question, request) = self.pending.take(id).ok_or(NotPending(id))?;
        let session = question.operation.session;
        self.remember(&question, &request, response);
        let mut settled = vec![settle(&question, request, ResolutionKind::Answered, response)];
        match response {
            ApprovalResponse::Approved { scope: GrantScope::Once } | ApprovalResponse::Denied => {}
            ApprovalResponse::Approved { .. } => settled.extend(self.resolve_granted(session)),
            ApprovalResponse::Rejected { .. } | ApprovalResponse::Cancelled => {
                settled.extend(self.reject_all(session, response));
            }
        }
        Ok(settled)
    }

    /// Returns the requests that wait for an answer, oldest first.
    pub fn pending(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.pending.iter()
    }

    fn context<'a>(&'a self, question: &'a Question) -> Context<'a> {
        Context {
            mode: self.mode,
            cwd: &question.operation.cwd,
            roots: &self.roots,
            doubt: self.doubt.as_deref(),
        }
    }

    fn evaluate(&self, question: &Question) -> Decision {
        let context = self.context(question);
        let decision = after_hooks(&self.policy, &context, &question.facts, &question.hooks);
        if decision.effect == Effect::Ask && self.is_granted(question, &decision, &context) {
            let reason = "it was granted in this session".to_owned();
            return Decision { effect: Effect::Allow, reason, rule: None, ..decision };
        }
        decision
    }

    /// A grant for exactly this operation covers all of it, but no circuit breaker. A granted rule covers the parts that it allows, unless something
    /// asks that no rule can answer: then nothing was offered to be remembered.
    fn is_granted(&self, question: &Question, decision: &Decision, context: &Context<'_>) -> bool {
        let session = question.operation.session;
        let Some((_, grants)) = self.grants.iter().find(|(of, _)| *of == session) else {
            return false;
        };
        if decision.obligations.contains(&Obligation::Human) {
            return false;
        }
        if grants.covers_exactly(question.digest) {
            return !decision.findings.iter().any(breaks_the_circuit);
        }
        let covered = |part: &openoxide_protocol::Part| {
            part.decision == Effect::Allow || grants.cover(context, &part.access)
        };
        !decision.always.is_empty() && decision.parts.iter().all(covered)
    }

    fn remember(
        &mut self,
        question: &Question,
        request: &ApprovalRequest,
        response: &ApprovalResponse,
    ) {
        let ApprovalResponse::Approved { scope } = response else { return };
        let session = question.operation.session;
        let at = self.grants.iter().position(|(of, _)| *of == session).unwrap_or_else(|| {
            self.grants.push((session, Grants::default()));
            self.grants.len() - 1
        });
        let (mode, cwd) = (self.mode, &question.operation.cwd);
        let context = Context { mode, cwd, roots: &self.roots, doubt: None };
        let Some((_, grants)) = self.grants.get_mut(at) else { return };
        match scope {
            GrantScope::Once => {}
            GrantScope::Session => grants.add_exact(question.digest),
            GrantScope::Project => grants.add_rules(&request.decision.always, &context),
        }
    }

    /// Ends the requests of a session that a new grant covers (OpenCode's retroactive resolution).
    fn resolve_granted(&mut self, session: SessionId) -> Vec<Settled> {
        let response = ApprovalResponse::Approved { scope: GrantScope::Once };
        let covered: Vec<_> = self
            .pending
            .of(session)
            .filter(|(question, request)| {
                !request.explicit_yes_required && self.evaluate(question).effect == Effect::Allow
            })
            .map(|(_, request)| request.id)
            .collect();
        let taken: Vec<_> = covered.into_iter().filter_map(|id| self.pending.take(id)).collect();
        let settle = |(question, request)| {
            settle(&question, request, ResolutionKind::Retroactive, &response)
        };
        taken.into_iter().map(settle).collect()
    }

    /// Ends every request of a session along with one that was rejected (OpenCode's cascading rejection).
    fn reject_all(&mut self, session: SessionId, response: &ApprovalResponse) -> Vec<Settled> {
        let response = match response {
            ApprovalResponse::Cancelled => ApprovalResponse::Cancelled,
            _ => ApprovalResponse::Rejected { message: None },
        };
        let ids: Vec<_> = self.pending.of(session).map(|(_, request)| request.id).collect();
        let taken: Vec<_> = ids.into_iter().filter_map(|id| self.pending.take(id)).collect();
        let settle =
            |(question, request)| settle(&question, request, ResolutionKind::Cascade, &response);
        taken.into_iter().map(settle).collect()
    }
}

fn breaks_the_circuit(finding: &Finding) -> bool {
    finding.kind == FindingKind::CircuitBreaker
}

fn permit(question: &Question, decision: Decision) -> Permit {
    Permit { digest: question.digest, decision: Box::new(decision) }
}

fn request(question: &Question, decision: Decision) -> ApprovalRequest {
    // A circuit breaker, and a rule that only a person answers, is answered for this once: no batch and no grant covers it.
    let breaks = decision.findings.iter().any(breaks_the_circuit)
        || decision.obligations.contains(&Obligation::Human);
    ApprovalRequest {
        schema: SCHEMA,
        id: question.id,
        session: question.operation.session,
        tool: question.operation.tool.clone(),
        title: question.title.clone(),
        cwd: question.operation.cwd.clone(),
        presentation: question.presentation.clone(),
        decision,
        digest: question.digest,
        group: question.group.clone(),
        explicit_yes_required: question.explicit_yes_required || breaks,
    }
}

fn settle(
    question: &Question,
    request: ApprovalRequest,
    kind: ResolutionKind,
    response: &ApprovalResponse,
) -> Settled {
    let resolution = Resolution { id: request.id, kind, response: response.clone() };
    let outcome = match response {
        ApprovalResponse::Approved { .. } => Ok(permit(question, request.decision)),
        ApprovalResponse::Rejected { message: Some(message) } => {
            Err(Refusal::Corrected { message: message.clone() })
        }
        ApprovalResponse::Rejected { message: None } | ApprovalResponse::Denied => {
            Err(Refusal::Rejected)
        }
        ApprovalResponse::Cancelled => Err(Refusal::Cancelled),
    };
    Settled { resolution, outcome }
}

#[cfg(test)]
mod tests;
