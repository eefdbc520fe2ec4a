//! Claude Code's hooks: one answer to each payload (its hook reference; measured on 2.1.330).
//!
//! A hook that fails lets the client go on as if there were none. So whatever happens, there is an answer here, and it is
//! never an allow that nobody decided.

mod bash;
mod constructs;
mod hooks;
mod hosts;
mod judge;
mod layer;
mod matcher;
mod own;
mod paths;
mod readonly;
mod rules;
mod settings;
pub mod wiring;
mod words;
mod wrappers;
mod write;

pub use judge::Policy;
pub use layer::translate;
pub use settings::{Mode, Settings};
pub use write::write;

use openoxide_protocol::{Decision, Effect};
use serde_json::json;

use crate::hook::{Event, before_tool, denied, explained, request};

/// Returns the answer to a hook, as one line of JSON, or nothing where the client shall go on as if there were no hook.
///
/// A permission request is left to the person who is being asked, unless the policy itself allows or denies.
#[must_use]
pub fn answer(event: Event, decision: &Decision) -> Option<String> {
    let reason = format!("OpenOxide: {}", explained(decision));
    match (event, decision.effect) {
        (Event::PreToolUse, effect) => Some(before_tool(effect, &reason)),
        (Event::PermissionRequest, Effect::Ask) => None,
        (Event::PermissionRequest, Effect::Allow) => Some(request(&json!({ "behavior": "allow" }))),
        (Event::PermissionRequest, Effect::Deny) => Some(denied(&reason)),
    }
}

/// Returns the answer for when nothing could be decided: the person is asked, and where nobody can be, the client denies.
#[must_use]
pub fn undecided(why: &str) -> String {
    before_tool(Effect::Ask, &format!("OpenOxide could not decide: {why}"))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::RuleRef;
    use serde_json::Value;

    use super::*;

    fn decision(effect: Effect) -> Decision {
        let rule = RuleRef {
            layer: "user".into(),
            file: Some("/h/policy.toml".into()),
            line: Some(4),
            text: "deny Bash(rm *)".into(),
            reason: None,
        };
        Decision {
            effect,
            reason: "`rm x` is denied by user policy".into(),
            rule: Some(rule),
            parts: vec![],
            findings: vec![],
            always: vec![],
            obligations: vec![],
        }
    }

    #[test]
    fn answers_are_in_the_clients_contract() {
        let line = answer(Event::PreToolUse, &decision(Effect::Deny)).unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        let expected = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason":
                "OpenOxide: `rm x` is denied by user policy (`deny Bash(rm *)`, /h/policy.toml:4)",
        }});
        assert_eq!(found, expected);
        assert_eq!(answer(Event::PermissionRequest, &decision(Effect::Ask)), None);
        let line = answer(Event::PermissionRequest, &decision(Effect::Allow)).unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(found["hookSpecificOutput"]["decision"], json!({"behavior": "allow"}));
    }

    #[test]
    fn without_a_decision_a_person_is_asked() {
        let found: Value = serde_json::from_str(&undecided("x")).unwrap();
        assert_eq!(found["hookSpecificOutput"]["permissionDecision"], "ask");
    }
}
