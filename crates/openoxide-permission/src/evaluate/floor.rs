//! The safety floor, and a policy in doubt: an allow becomes a question.

use openoxide_protocol::{Access, Decision, Effect, Finding, FindingKind, PermissionMode, Touch};

use super::{Context, after_mode};
use crate::{
    outcome::{Outcome, Why},
    safety_floor,
};

/// Turns an allow into an ask where a finding wants it.
pub(super) fn under_the_floor(decision: Decision, mode: PermissionMode) -> Decision {
    let Some(finding) = escalation(&decision.findings, mode) else { return decision };
    let always = Vec::new(); // A remembered yes would not lift the floor.
    if decision.effect != Effect::Allow {
        return Decision { always, ..decision };
    }
    let reason = format!("{} ({})", finding.message, finding.code);
    Decision { effect: after_mode(Effect::Ask, mode), reason, rule: None, always, ..decision }
}

/// Turns an allow into an ask where a rule that holds back may be missing.
pub(super) fn in_doubt(decision: Decision, context: &Context<'_>) -> Decision {
    match context.doubt {
        Some(doubt) if decision.effect == Effect::Allow => Decision {
            effect: after_mode(Effect::Ask, context.mode),
            reason: doubt.to_owned(),
            rule: None,
            always: Vec::new(),
            ..decision
        },
        Some(doubt) => {
            let reason = format!("{}; {doubt}", decision.reason);
            Decision { reason, always: Vec::new(), ..decision }
        }
        None => decision,
    }
}

pub(super) fn escalation(findings: &[Finding], mode: PermissionMode) -> Option<&Finding> {
    let escalates = |finding: &&Finding| match finding.kind {
        FindingKind::Note => false,
        FindingKind::Escalate => mode != PermissionMode::BypassPermissions,
        FindingKind::CircuitBreaker => true,
    };
    findings.iter().filter(escalates).max_by_key(|finding| finding.kind)
}

/// Turns an allow into an ask where a path wants it. Secrets may be read by a rule that names this very path.
pub(super) fn above_the_floor(mode: PermissionMode, access: &Access, outcome: Outcome) -> Outcome {
    if outcome.effect != Effect::Allow {
        return outcome;
    }
    let ask = |why| Outcome { effect: Effect::Ask, why, ..outcome };
    match access {
        Access::Edit(path) if path.spellings().any(safety_floor::is_protected) => {
            ask(Why::Protected)
        }
        Access::Exec(exec) if safety_floor::answers_for_a_person(&exec.argv) => {
            ask(Why::ForAPerson)
        }
        Access::Read(path)
            if path.touch != Touch::Names
                && mode != PermissionMode::BypassPermissions
                && !(path.resolved.is_none()
                    && matches!(outcome.ruling, Some(ruling) if ruling.exact))
                && path.spellings().any(safety_floor::is_secret) =>
        {
            ask(Why::Secret)
        }
        _ => outcome,
    }
}
