//! Descriptions of decisions.

use openoxide_protocol::{Access, AccessDecision, Cause, Effect, RuleRef};

use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    cause_text::find_cause,
    policy_stack::PolicyStack,
};

/// Returns the part of a decision for this outcome. `following` contains the accesses after it.
pub(crate) fn to_access_decision(
    policy: &PolicyStack,
    access: &Access,
    outcome: &AccessOutcome,
    following: &[Access],
) -> AccessDecision {
    let speaks = match outcome.reason {
        ReasonCode::Rule => Some(policy),
        ReasonCode::LastGoodDeny => policy.last_good(),
        _ => None,
    };
    let rule = speaks.zip(outcome.rule_match).map(|(policy, ruling)| policy.rule_ref(ruling.rule));
    let cause = find_cause(access, outcome, following);
    let reason = render_reason(access, outcome, rule.as_ref(), cause.as_ref());
    AccessDecision {
        access: access.clone(),
        decision: outcome.effect,
        rule,
        reason,
        cause,
        overridden: Vec::new(),
    }
}

fn render_reason(
    access: &Access,
    outcome: &AccessOutcome,
    rule: Option<&RuleRef>,
    cause: Option<&Cause>,
) -> String {
    let what = access.summary();
    let verb = match outcome.effect {
        Effect::Allow => "is allowed",
        Effect::Ask => "is asked for",
        Effect::Deny => "is denied",
    };
    match (outcome.reason, rule) {
        (ReasonCode::Rule | ReasonCode::LastGoodDeny, Some(rule)) => {
            let said = rule.reason.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
            let version = if outcome.reason == ReasonCode::LastGoodDeny {
                " in its last good version"
            } else {
                ""
            };
            format!("`{what}` {verb} by {} policy{version}{said}", rule.layer)
        }
        (ReasonCode::Rule | ReasonCode::LastGoodDeny | ReasonCode::NoRule, _) => {
            match cause.filter(|_| matches!(access, Access::Exec(_) | Access::Socket(_))) {
                Some(cause) => format!("no rule matches `{what}`, which {}", cause.detail),
                None => AccessDecision::unmatched_reason(what),
            }
        }
        (ReasonCode::PartialMatch(effect), _) => {
            format!(
                "`{what}` depends on values known only at run time; a rule with `{}` might match it",
                effect.as_str()
            )
        }
        (ReasonCode::Harmless, _) => format!("`{what}` is read-only"),
        (ReasonCode::Unproved, _) => {
            format!("`{what}` has not been verified as read-only by running it")
        }
        (ReasonCode::Sandboxed, _) => match cause.filter(|_| matches!(access, Access::Exec(_))) {
            Some(cause) => format!("sandboxed: `{what}` {}", cause.detail),
            None => format!("sandboxed: `{what}`"),
        },
        (ReasonCode::InsideProject, _) => format!("`{what}` is inside the project"),
        (ReasonCode::OutsideProject, _) => format!("`{what}` is outside the project"),
        (ReasonCode::CheckedSeparately, _) => {
            format!("`{what}` is accessed by a command that is checked separately")
        }
        (ReasonCode::Opaque, _) => format!("`{what}` was not understood"),
        (ReasonCode::Hook, _) => format!("`{what}` {verb} by a hook"),
        (ReasonCode::Mode(mode), _) => format!("`{what}` {verb} in mode {}", mode.as_str()),
        (ReasonCode::SecretFile, _) => format!("`{what}` usually contains secrets"),
        (ReasonCode::SelfApproval, _) => format!("`{what}` would approve requests on your behalf"),
        (ReasonCode::SteeringFile, _) => format!("`{what}` configures shells, tools or agents"),
    }
}
