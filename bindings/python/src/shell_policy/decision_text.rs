//! The rule and the reason of a decision, in the terms of the configuration.

use openoxide_protocol::{AccessDecision, Decision, Effect};

/// Returns the pattern and the description of the rule that asks, if it is the only reason.
pub(super) fn asking_rule(decision: &Decision) -> Option<(String, Option<String>)> {
    let mut parts = decision.parts.iter().filter(|part| part.decision == Effect::Ask);
    let first = parts.next()?;
    let pattern = rule_pattern(first)?;
    if parts.any(|part| rule_pattern(part) != Some(pattern)) {
        return None;
    }
    let description = first.rule.as_ref().and_then(|rule| rule.reason.clone());
    Some((pattern.to_owned(), description))
}

/// Returns the reason why a command is blocked, if it is.
pub(super) fn blocking_reason(decision: &Decision) -> Option<String> {
    let part = decision.parts.iter().find(|part| part.decision == Effect::Deny)?;
    let what = part.access.summary();
    if let Some(pattern) = rule_pattern(part) {
        return Some(format!("the rule `{pattern}` does not allow `{what}`"));
    }
    let text = rule_text(part)?;
    Some(match text {
        "shell.default" => format!("no rule allows `{what}`"),
        "shell.network" => format!("`{what}` contacts a host, and `network` is off"),
        _ => {
            let name = text.strip_prefix("sandbox.paths.")?.strip_suffix("(write)")?;
            format!("commands cannot change `{what}`, which is in the sandbox `{name}`")
        }
    })
}

/// Returns the pattern of the rule that decided a part.
fn rule_pattern(part: &AccessDecision) -> Option<&str> {
    rule_text(part)?.strip_prefix("shell(")?.strip_suffix(')')
}

/// Returns the rule that decided a part, without its effect.
fn rule_text(part: &AccessDecision) -> Option<&str> {
    let text = part.rule.as_ref()?.text.as_str();
    Some(text.split_once(' ').map_or(text, |(_, rule)| rule))
}
