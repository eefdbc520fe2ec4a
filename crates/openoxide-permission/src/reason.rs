//! Decisions in words.

use openoxide_protocol::{Access, Effect, Part, RuleRef};

use crate::{
    outcome::{Outcome, Why},
    stack::PolicyStack,
};

/// Returns the part of a decision that this outcome is.
pub(crate) fn part(policy: &PolicyStack, access: &Access, outcome: &Outcome) -> Part {
    let speaks = match outcome.why {
        Why::Rule => Some(policy),
        Why::Before => policy.before(),
        _ => None,
    };
    let rule = speaks.zip(outcome.ruling).map(|(policy, ruling)| policy.rule_ref(ruling.rule));
    let reason = reason(access, outcome, rule.as_ref());
    Part { access: access.clone(), decision: outcome.effect, rule, reason, lost: Vec::new() }
}

fn reason(access: &Access, outcome: &Outcome, rule: Option<&RuleRef>) -> String {
    let what = access.summary();
    let verb = match outcome.effect {
        Effect::Allow => "is allowed",
        Effect::Ask => "is asked for",
        Effect::Deny => "is denied",
    };
    match (outcome.why, rule) {
        (Why::Rule | Why::Before, Some(rule)) => {
            let said = rule.reason.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
            let version = if outcome.why == Why::Before { " in its last good version" } else { "" };
            format!("`{what}` {verb} by {} policy{version}{said}", rule.layer)
        }
        (Why::Rule | Why::Before | Why::NoRule, _) => format!("no rule matches `{what}`"),
        (Why::Possible(effect), _) => {
            format!(
                "`{what}` depends on values known only at run time; a rule with `{}` might match it",
                effect.as_str()
            )
        }
        (Why::Harmless, _) => format!("`{what}` is read-only"),
        (Why::Unproved, _) => {
            format!("`{what}` has not been verified as read-only by running it")
        }
        (Why::Inside, _) => format!("`{what}` is inside the project"),
        (Why::Outside, _) => format!("`{what}` is outside the project"),
        (Why::Carried, _) => {
            format!("`{what}` is accessed by a command that is checked separately")
        }
        (Why::Opaque, _) => format!("`{what}` was not understood"),
        (Why::Hook, _) => format!("`{what}` {verb} by a hook"),
        (Why::Mode(mode), _) => format!("`{what}` {verb} in mode {}", mode.as_str()),
        (Why::Secret, _) => format!("`{what}` usually contains secrets"),
        (Why::ForAPerson, _) => format!("`{what}` would approve requests on your behalf"),
        (Why::Protected, _) => format!("`{what}` configures shells, tools or agents"),
    }
}
