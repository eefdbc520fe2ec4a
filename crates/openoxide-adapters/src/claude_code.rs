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
mod screenshots;
mod settings;
mod shell;
pub mod wiring;
mod words;
mod wrappers;
mod write;

pub use judge::Policy;
pub use layer::translate;
pub use screenshots::also_read;
pub use settings::{Mode, Settings};
pub use shell::{directories_left_in, shell_doubts};
pub use write::write;

use openoxide_protocol::{Decision, Effect};
use serde_json::json;

use crate::hook::{Call, Event, asks_the_person, before_tool, denied, explained, request};

/// Returns the answer to a hook, as one line of JSON, or nothing where the client shall go on as if there were no hook.
///
/// A permission request is left to the person who is being asked, unless the policy itself allows or denies. A tool that
/// asks the person by itself is answered with a deny or not at all.
#[must_use]
pub fn answer(call: &Call, decision: &Decision) -> Option<String> {
    let reason = format!("OpenOxide: {}", explained(decision));
    match (call.event, decision.effect) {
        (_, Effect::Allow | Effect::Ask) if asks_the_person(&call.tool) => None,
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

    fn call(event: Event, tool: &str) -> Call {
        let name = match event {
            Event::PreToolUse => "PreToolUse",
            Event::PermissionRequest => "PermissionRequest",
        };
        let payload = json!({ "hook_event_name": name, "cwd": "/p", "tool_name": tool });
        crate::hook::read(payload.to_string().as_bytes()).unwrap()
    }

    /// An allow of a hook leaves plan mode without the person (Claude Code 2.1.7 to 2.1.198).
    #[test]
    fn a_tool_that_asks_the_person_is_not_answered_in_the_persons_place() {
        for tool in ["ExitPlanMode", "AskUserQuestion", "EnterPlanMode"] {
            for event in [Event::PreToolUse, Event::PermissionRequest] {
                let answered = |effect| answer(&call(event, tool), &decision(effect));
                assert_eq!(answered(Effect::Allow), None, "{tool}");
                assert_eq!(answered(Effect::Ask), None, "{tool}");
                assert!(answered(Effect::Deny).is_some_and(|line| line.contains("deny")), "{tool}");
            }
        }
        assert!(answer(&call(Event::PreToolUse, "Bash"), &decision(Effect::Allow)).is_some());
    }

    #[test]
    fn answers_are_in_the_clients_contract() {
        let line = answer(&call(Event::PreToolUse, "Bash"), &decision(Effect::Deny)).unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        let expected = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason":
                "OpenOxide: `rm x` is denied by user policy (`deny Bash(rm *)`, /h/policy.toml:4)",
        }});
        assert_eq!(found, expected);
        assert_eq!(answer(&call(Event::PermissionRequest, "Bash"), &decision(Effect::Ask)), None);
        let line =
            answer(&call(Event::PermissionRequest, "Bash"), &decision(Effect::Allow)).unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(found["hookSpecificOutput"]["decision"], json!({"behavior": "allow"}));
    }

    #[test]
    fn without_a_decision_a_person_is_asked() {
        let found: Value = serde_json::from_str(&undecided("x")).unwrap();
        assert_eq!(found["hookSpecificOutput"]["permissionDecision"], "ask");
    }
}
