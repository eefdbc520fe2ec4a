//! Escalation of an allow to a question: the safety floor and policy errors.

use openoxide_protocol::{
    Access, AccessRoute, Decision, Effect, Finding, FindingKind, PermissionMode,
};

use super::{evaluation_context::EvaluationContext, mode_effect::apply_dont_ask};
use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    safety_floor,
};

/// Turns an allow into an ask if a finding requires it. `is_confined` returns whether the sandbox
/// makes a finding harmless.
pub(super) fn escalate_findings(
    decision: Decision,
    mode: PermissionMode,
    is_confined: impl Fn(&Finding) -> bool,
) -> Decision {
    let open = |finding: &&Finding| !is_confined(finding);
    let Some(finding) = find_escalation(decision.findings.iter().filter(open), mode) else {
        return decision;
    };
    let always = Vec::new(); // A remembered approval would not lift the safety floor.
    if decision.effect != Effect::Allow {
        return Decision { suggested_rules: always, ..decision };
    }
    let reason = format!("{} ({})", finding.message, finding.code);
    Decision {
        effect: apply_dont_ask(Effect::Ask, mode),
        reason,
        rule: None,
        suggested_rules: always,
        ..decision
    }
}

/// Turns an allow into an ask if the policy failed to load, because a rule that asks or denies may
/// be missing.
pub(super) fn apply_policy_error(decision: Decision, context: &EvaluationContext<'_>) -> Decision {
    match context.policy_error {
        Some(doubt) if decision.effect == Effect::Allow => Decision {
            effect: apply_dont_ask(Effect::Ask, context.mode),
            reason: doubt.to_owned(),
            rule: None,
            suggested_rules: Vec::new(),
            ..decision
        },
        Some(doubt) => {
            let reason = format!("{}; {doubt}", decision.reason);
            Decision { reason, suggested_rules: Vec::new(), ..decision }
        }
        None => decision,
    }
}

/// Returns the most serious finding that asks.
pub(super) fn find_escalation<'a>(
    findings: impl IntoIterator<Item = &'a Finding>,
    mode: PermissionMode,
) -> Option<&'a Finding> {
    let escalates = |finding: &&Finding| match finding.kind {
        FindingKind::Note => false,
        FindingKind::Escalate => mode != PermissionMode::BypassPermissions,
        FindingKind::CircuitBreaker => true,
    };
    findings.into_iter().filter(escalates).max_by_key(|finding| finding.kind)
}

/// Turns an allow into an ask if a path requires it. A rule that names exactly this path can allow
/// reading a secret.
pub(super) fn escalate_access(
    mode: PermissionMode,
    access: &Access,
    outcome: AccessOutcome,
) -> AccessOutcome {
    if outcome.effect != Effect::Allow {
        return outcome;
    }
    let ask = |why| AccessOutcome { effect: Effect::Ask, reason: why, ..outcome };
    match access {
        Access::Edit(path)
            if path.route != AccessRoute::RepositoryData
                && path.paths().any(safety_floor::is_protected) =>
        {
            ask(ReasonCode::SteeringFile)
        }
        Access::Exec(exec) if safety_floor::is_self_approval(&exec.argv) => {
            ask(ReasonCode::SelfApproval)
        }
        Access::Read(path)
            if path.route != AccessRoute::Metadata
                && mode != PermissionMode::BypassPermissions
                && !(path.resolved.is_none()
                    && matches!(outcome.rule_match, Some(ruling) if ruling.is_literal))
                && path.paths().any(safety_floor::is_secret) =>
        {
            ask(ReasonCode::SecretFile)
        }
        _ => outcome,
    }
}
