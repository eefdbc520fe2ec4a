//! The rules that "always" would save. They are shown before it is chosen.

use openoxide_protocol::{Access, CommandWords, Effect, ExecAccess};

use crate::{
    access_outcome::{AccessOutcome, ReasonCode},
    pattern::{command, path, socket},
    safety_floor::{is_protected, is_secret},
};

/// Returns one rule for each access that is asked about. Returns no rules if one of the accesses
/// cannot be remembered, because an approval of the others would not avoid the question.
pub(crate) fn suggest_rules(accesses: &[Access], outcomes: &[AccessOutcome]) -> Vec<String> {
    let mut rules = Vec::new();
    for (access, outcome) in accesses.iter().zip(outcomes) {
        match outcome.effect {
            Effect::Allow => {}
            Effect::Deny => return Vec::new(),
            Effect::Ask if matches!(outcome.rule_match, Some(ruling) if ruling.requires_human) => {
                return Vec::new();
            }
            Effect::Ask => match suggest_rule(access, outcome.reason) {
                Some(rule) if rules.contains(&rule) => {}
                Some(rule) => rules.push(rule),
                None => return Vec::new(),
            },
        }
    }
    rules
}

fn suggest_rule(access: &Access, why: ReasonCode) -> Option<String> {
    match why {
        ReasonCode::Rule
        | ReasonCode::NoRule
        | ReasonCode::Unproved
        | ReasonCode::OutsideProject => {}
        ReasonCode::LastGoodDeny
        | ReasonCode::PartialMatch(_)
        | ReasonCode::Opaque
        | ReasonCode::SecretFile
        | ReasonCode::SteeringFile
        | ReasonCode::SelfApproval
        | ReasonCode::CheckedSeparately
        | ReasonCode::Harmless
        | ReasonCode::InsideProject
        | ReasonCode::Hook
        | ReasonCode::Sandboxed
        | ReasonCode::Mode(_) => return None,
    }
    match access {
        Access::Exec(exec) => prefix_rule(exec),
        // Reading a secret is asked about each time, unless a person writes a rule for it.
        Access::Read(place) if place.paths().any(is_secret) => None,
        Access::Read(place) => Some(format!("Read({})", path::quote(&place.path))),
        Access::Edit(place) if place.paths().any(is_protected) => None,
        Access::Edit(place) => Some(format!("Edit({})", path::quote(&place.path))),
        Access::ExternalDirectory(place) => {
            Some(format!("ExternalDirectory({})", path::quote(&place.path)))
        }
        Access::Fetch { host, .. } => Some(format!("WebFetch(domain:{host})")),
        Access::Socket(access) => Some(format!("Socket({})", socket::quote(&access.socket))),
        Access::CallTool { tool } => Some(tool.clone()),
        Access::Delegate { agent } => Some(format!("Task({agent})")),
        Access::Repetition { tool } => Some(format!("DoomLoop({tool})")),
        Access::Opaque { .. } => None,
    }
}

/// Returns the rule for a command's prefix, with as many words as its arity. Returns `None` if no
/// prefix may be offered.
#[must_use]
pub fn prefix_rule(exec: &ExecAccess) -> Option<String> {
    let arity = usize::from(exec.arity);
    if arity == 0 || arity > exec.argv.len() {
        return None;
    }
    let words: Option<Vec<_>> = exec.argv.known_words(0).take(arity).collect();
    let words: Vec<_> = words?.into_iter().map(command::quote).collect();
    Some(format!("Bash({} *)", words.join(" ")))
}

/// Returns the rule that matches only this exact command.
#[must_use]
pub fn exact_command_rule(argv: &CommandWords) -> Option<String> {
    let words: Option<Vec<_>> = argv.known_words(0).collect();
    let words: Vec<_> = words?.into_iter().map(command::quote).collect();
    Some(format!("Bash({})", words.join(" ")))
}

#[cfg(test)]
mod tests;
