//! From a question to a request, and from a request to its end.

use openoxide_protocol::{
    Access, ApprovalRequest, ApprovalResponse, Decision, Effect, Finding, FindingKind, GrantScope,
    Obligation, PermissionMode, Resolution, ResolutionKind, SCHEMA,
};

use super::{Permit, Question, Refusal, Settled, pending::Waiting};
use crate::{
    alternatives::alternatives,
    grant::Key,
    rule::{Anchors, Space},
    syntax,
};

/// Where a presentation says what a yes for the session covers.
const COVERS: &str = "covers";

pub(super) fn breaks_the_circuit(finding: &Finding) -> bool {
    finding.kind == FindingKind::CircuitBreaker
}

/// A circuit breaker, and a rule that only a person answers, is answered for this once: no batch and no grant covers it.
pub(super) fn is_for_once(decision: &Decision) -> bool {
    decision.findings.iter().any(breaks_the_circuit)
        || decision.obligations.contains(&Obligation::Human)
}

/// Where an explicit yes is demanded, an allow of whatever kind is none.
pub(super) fn explicitly(decision: Decision, mode: PermissionMode) -> Decision {
    let always = Vec::new();
    if decision.effect != Effect::Allow {
        return Decision { always, ..decision };
    }
    let effect = if mode == PermissionMode::DontAsk { Effect::Deny } else { Effect::Ask };
    let reason = "it requires explicit approval".to_owned();
    Decision { effect, reason, rule: None, always, ..decision }
}

/// Returns the request that a reviewer is shown: with what a lasting yes would cover.
pub(super) fn request(
    question: &Question,
    mut decision: Decision,
    task: Option<String>,
) -> ApprovalRequest {
    let mut presentation = question.presentation.clone();
    presentation.metadata.remove(COVERS); // Only what the gate remembers may stand here.
    if covers_more(question, &decision) {
        let keys = question.covers.keys.clone().into();
        presentation.metadata.insert(COVERS.to_owned(), keys);
    }
    decision.always = offered(question, decision.always);
    let anchors = Anchors { home: None, base: &question.operation.cwd };
    let alternatives = alternatives(&decision.always, &decision.parts, anchors);
    ApprovalRequest {
        schema: SCHEMA,
        id: question.id,
        session: question.operation.session,
        tool: question.operation.tool.clone(),
        title: question.title.clone(),
        cwd: question.operation.cwd.clone(),
        presentation,
        explicit_yes_required: question.explicit_yes_required || is_for_once(&decision),
        decision,
        digest: question.digest,
        group: question.group.clone(),
        alternatives,
        task,
    }
}

/// Says whether a yes for the session covers more than the very operation: never where nothing may be remembered.
fn covers_more(question: &Question, decision: &Decision) -> bool {
    !decision.always.is_empty() && !question.covers.keys.is_empty()
}

/// Returns the keys of a yes for the session: those that were shown.
pub(super) fn shown(question: &Question, request: &ApprovalRequest) -> Vec<Key> {
    if covers_more(question, &request.decision) {
        question.keys()
    } else {
        vec![Key::Exact(question.digest)]
    }
}

/// Returns the rules that "always" adds: the tool's own in the place of others, but for that about a repetition.
fn offered(question: &Question, always: Vec<String>) -> Vec<String> {
    let anchors = Anchors { home: None, base: &question.operation.cwd };
    let fits = |text: &&String| {
        let rule = syntax::parse(text, Effect::Allow, anchors);
        rule.is_ok_and(|rule| rule.patterns.iter().all(|pattern| pattern.space != Space::Exec))
    };
    let own: Vec<_> = question.covers.rules.iter().filter(fits).cloned().collect();
    let (loops, others): (Vec<_>, Vec<_>) =
        always.into_iter().partition(|rule| rule.starts_with("DoomLoop("));
    let others = if others.is_empty() || own.is_empty() { others } else { own };
    others.into_iter().chain(loops).collect()
}

/// Returns the rules that a yes for the session to a repetition remembers: that tool may be repeated (DECISIONS 12).
pub(super) fn repeated(request: &ApprovalRequest) -> Vec<String> {
    let tool = |access: &Access| match access {
        Access::DoomLoop { tool } => Some(format!("DoomLoop({tool})")),
        _ => None,
    };
    request.decision.parts.iter().filter_map(|part| tool(&part.access)).collect()
}

/// Ends a request with a response.
pub(super) fn settle(
    waiting: Waiting,
    kind: ResolutionKind,
    response: &ApprovalResponse,
) -> Settled {
    let Waiting { question, request } = waiting;
    let resolution = Resolution { id: request.id, kind, response: response.clone() };
    let outcome = match response {
        ApprovalResponse::Approved { .. } => Ok(Permit::new(&question, request.decision)),
        ApprovalResponse::Rejected { message: Some(message) } if !message.is_empty() => {
            Err(Refusal::Corrected { message: message.clone() })
        }
        ApprovalResponse::Rejected { .. } | ApprovalResponse::Denied => Err(Refusal::Rejected),
        ApprovalResponse::Cancelled => Err(Refusal::Cancelled),
    };
    Settled { resolution, outcome }
}

/// Ends a request that is decided without an answer now.
pub(super) fn decided(waiting: &Waiting, decision: Decision) -> Settled {
    let (response, outcome) = match decision.effect {
        Effect::Allow => (
            ApprovalResponse::approved(GrantScope::Once),
            Ok(Permit::new(&waiting.question, decision)),
        ),
        Effect::Ask | Effect::Deny => {
            (ApprovalResponse::Denied, Err(Refusal::Denied(Box::new(decision))))
        }
    };
    let kind = ResolutionKind::Retroactive;
    Settled { resolution: Resolution { id: waiting.request.id, kind, response }, outcome }
}
