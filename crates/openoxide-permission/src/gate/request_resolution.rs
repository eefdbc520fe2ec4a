//! Creation and resolution of approval requests.

use openoxide_protocol::{
    Access, ApprovalRequest, ApprovalResponse, Decision, Effect, Finding, FindingKind, GrantScope,
    Obligation, PermissionMode, Resolution, ResolutionKind, SCHEMA,
};

use super::{
    CheckRequest, OperationRefusal, Permit, ResolvedRequest, pending_queue::QueuedRequest,
};
use crate::{
    rule::{PathAnchors, SubjectKind},
    rule_alternatives::find_alternatives,
    rule_syntax,
    session_grants::GrantKey,
};

/// The metadata key of a presentation that lists the coverage of a session grant.
const COVERAGE_KEY: &str = "covers";

pub(super) fn is_circuit_breaker(finding: &Finding) -> bool {
    finding.kind == FindingKind::CircuitBreaker
}

/// Returns whether an approval is only valid for this request: for circuit breakers and rules that
/// only a person answers. No batch and no grant covers such a request.
pub(super) fn requires_explicit_approval(decision: &Decision) -> bool {
    decision.findings.iter().any(is_circuit_breaker)
        || decision.obligations.contains(&Obligation::Human)
}

/// Turns an allow of any kind into an ask, or into a deny in mode `dont_ask`. Used where explicit
/// approval is required.
pub(super) fn with_explicit_approval(decision: Decision, mode: PermissionMode) -> Decision {
    let always = Vec::new();
    if decision.effect != Effect::Allow {
        return Decision { suggested_rules: always, ..decision };
    }
    let effect = if mode == PermissionMode::DontAsk { Effect::Deny } else { Effect::Ask };
    let reason = "it requires explicit approval".to_owned();
    Decision { effect, reason, rule: None, suggested_rules: always, ..decision }
}

/// Returns the request for the reviewer, including the coverage of a grant.
pub(super) fn build_request(
    question: &CheckRequest,
    mut decision: Decision,
    task: Option<String>,
) -> ApprovalRequest {
    let mut presentation = question.presentation.clone();
    presentation.metadata.remove(COVERAGE_KEY); // Only what the gate remembers is shown.
    if has_extended_coverage(question, &decision) {
        let keys = question.coverage.keys.clone().into();
        presentation.metadata.insert(COVERAGE_KEY.to_owned(), keys);
    }
    decision.suggested_rules = suggested_rules(question, decision.suggested_rules);
    let anchors = PathAnchors { home: None, base: &question.operation.cwd };
    let alternatives = find_alternatives(&decision.suggested_rules, &decision.parts, anchors);
    ApprovalRequest {
        schema: SCHEMA,
        id: question.id,
        session: question.operation.session,
        tool: question.operation.tool.clone(),
        title: question.title.clone(),
        cwd: question.operation.cwd.clone(),
        presentation,
        requires_explicit_approval: question.requires_explicit_approval
            || requires_explicit_approval(&decision),
        decision,
        digest: question.digest,
        group: question.group.clone(),
        alternatives,
        task,
        directory: question.offered_directory.clone(),
    }
}

/// Returns whether a session grant covers more than the exact operation. It never does if nothing
/// may be remembered.
fn has_extended_coverage(question: &CheckRequest, decision: &Decision) -> bool {
    !decision.suggested_rules.is_empty() && !question.coverage.keys.is_empty()
}

/// Returns the keys of a session grant: those that were shown to the reviewer.
pub(super) fn session_keys(question: &CheckRequest, request: &ApprovalRequest) -> Vec<GrantKey> {
    if has_extended_coverage(question, &request.decision) {
        question.grant_keys()
    } else {
        vec![GrantKey::Operation(question.digest)]
    }
}

/// Returns the rules that "always" adds. The tool's own rules replace the others, except for a rule
/// about repetition.
fn suggested_rules(question: &CheckRequest, always: Vec<String>) -> Vec<String> {
    let anchors = PathAnchors { home: None, base: &question.operation.cwd };
    let fits = |text: &&String| {
        let rule = rule_syntax::parse_rule(text, Effect::Allow, anchors);
        rule.is_ok_and(|rule| rule.patterns.iter().all(|pattern| pattern.kind != SubjectKind::Exec))
    };
    let own: Vec<_> = question.coverage.rules.iter().filter(fits).cloned().collect();
    let (loops, others): (Vec<_>, Vec<_>) =
        always.into_iter().partition(|rule| rule.starts_with("DoomLoop("));
    let others = if others.is_empty() || own.is_empty() { others } else { own };
    others.into_iter().chain(loops).collect()
}

/// Returns the rules that a session grant for a repetition saves: the tool may be repeated.
pub(super) fn repetition_rules(request: &ApprovalRequest) -> Vec<String> {
    let tool = |access: &Access| match access {
        Access::Repetition { tool } => Some(format!("DoomLoop({tool})")),
        _ => None,
    };
    request.decision.parts.iter().filter_map(|part| tool(&part.access)).collect()
}

/// Resolves a request with a response.
pub(super) fn resolve_request(
    waiting: QueuedRequest,
    kind: ResolutionKind,
    response: &ApprovalResponse,
) -> ResolvedRequest {
    let QueuedRequest { check_request: question, request } = waiting;
    let resolution = Resolution { id: request.id, kind, response: response.clone() };
    let outcome = match response {
        ApprovalResponse::Approved { .. } => Ok(Permit::new(&question, request.decision)),
        ApprovalResponse::Rejected { message: Some(message) } if !message.is_empty() => {
            Err(OperationRefusal::Corrected { message: message.clone() })
        }
        ApprovalResponse::Rejected { .. } | ApprovalResponse::Denied => {
            Err(OperationRefusal::Rejected)
        }
        ApprovalResponse::Cancelled => Err(OperationRefusal::Cancelled),
    };
    ResolvedRequest { resolution, outcome }
}

/// Resolves a request that is now decided without an answer.
pub(super) fn resolve_without_answer(
    waiting: &QueuedRequest,
    decision: Decision,
) -> ResolvedRequest {
    let (response, outcome) = match decision.effect {
        Effect::Allow => (
            ApprovalResponse::new_approval(GrantScope::Once),
            Ok(Permit::new(&waiting.check_request, decision)),
        ),
        Effect::Ask | Effect::Deny => {
            (ApprovalResponse::Denied, Err(OperationRefusal::Denied(Box::new(decision))))
        }
    };
    let kind = ResolutionKind::Retroactive;
    ResolvedRequest { resolution: Resolution { id: waiting.request.id, kind, response }, outcome }
}
