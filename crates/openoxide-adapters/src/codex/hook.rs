//! Codex's hooks: one answer to each payload (measured on 0.169).
//!
//! Codex goes on as if there were no hook when one fails, when it says nothing, and also when it answers `ask` or a bare `allow`
//! before a tool. So what has to be asked is blocked there, unless Codex asks a person about everything by itself. The payload's
//! directory is the one that the command would run in; which sandbox the model wants for it, Codex does not tell.
//!
//! A script that calls `apply_patch` with a here-document is a command before the tool, and a patch when a person is asked: without
//! the directory that the script goes to first, so nobody can tell then which files are meant.

use openoxide_protocol::{Action, Decision, Effect};
use serde_json::{Value, json};

use crate::{
    hook::{Call, Event, asks_the_person, before_tool, denied, explained, request},
    tool::action,
};

/// Who asks a person where the policy wants that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Nobody can be relied on: what has to be asked is blocked.
    Nobody,
    /// Codex does, about all that its own rules do not allow: its approval policy is `untrusted`.
    Codex,
}

/// Returns the answer to a call, as one line of JSON, or nothing where Codex shall go on: then its own approval and its
/// sandbox come, which no hook skips.
#[must_use]
pub fn answer(call: &Call, decision: &Decision, asks: Asks) -> Option<String> {
    let reason = format!("OpenOxide: {}", explained(decision));
    match (call.event, decision.effect) {
        (Event::PermissionRequest, Effect::Allow) if wants_host(call) => None,
        (_, Effect::Allow | Effect::Ask) if asks_the_person(&call.tool) => None,
        // Before the tool it may have been left to Codex; otherwise the files have been judged there, each at its place.
        (Event::PermissionRequest, Effect::Allow) if asks == Asks::Codex && is_anywhere(call) => {
            None
        }
        (Event::PreToolUse, Effect::Deny) => Some(before_tool(Effect::Deny, &reason)),
        (Event::PreToolUse, Effect::Ask) if asks == Asks::Nobody => {
            Some(before_tool(Effect::Deny, &format!("{reason}. {}", permitted_by(decision))))
        }
        (Event::PermissionRequest, Effect::Allow) => Some(request(&json!({ "behavior": "allow" }))),
        (Event::PermissionRequest, Effect::Deny) => Some(denied(&reason)),
        (Event::PreToolUse, Effect::Allow | Effect::Ask)
        | (Event::PermissionRequest, Effect::Ask) => None,
    }
}

/// Returns the answer for when nothing could be decided, and perhaps not even the event is known: before a tool it blocks, and
/// a person who is asked is left to answer.
#[must_use]
pub fn undecided(why: &str) -> String {
    before_tool(Effect::Deny, &format!("OpenOxide could not decide: {why}"))
}

/// Says whether Codex asks for a host rather than for the command that goes there; or whether the model says so.
fn wants_host(call: &Call) -> bool {
    let about = call.input.get("description").and_then(Value::as_str);
    about.is_some_and(|about| about.trim_start().starts_with("network-access "))
}

/// Says whether a patch names files by paths that count from a directory which is not told.
fn is_anywhere(call: &Call) -> bool {
    let patched = call.tool == "apply_patch";
    let files = match action(&call.tool, &call.input) {
        Action::Edit { paths } if patched => paths,
        _ => Vec::new(),
    };
    files.iter().any(|file| !file.starts_with('/'))
}

/// Says how a person can let it through.
fn permitted_by(decision: &Decision) -> String {
    let rule =
        decision.always.first().map_or_else(String::new, |rule| format!(" such as `{rule}`"));
    format!("A person has to say yes first, and cannot be asked here; a rule{rule} allows it")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hook::read;

    fn call(event: Event, about: &str) -> Call {
        let name = match event {
            Event::PreToolUse => "PreToolUse",
            Event::PermissionRequest => "PermissionRequest",
        };
        let input = json!({ "command": "x y", "description": about });
        let payload = json!({
            "hook_event_name": name, "session_id": "s", "cwd": "/p", "tool_name": "Bash",
            "tool_input": input,
        });
        read(payload.to_string().as_bytes()).unwrap()
    }

    fn decision(effect: Effect) -> Decision {
        Decision {
            effect,
            reason: "no rule matches `x y`".into(),
            rule: None,
            parts: vec![],
            findings: vec![],
            always: vec!["Bash(x y)".into()],
            obligations: vec![],
        }
    }

    fn said(event: Event, effect: Effect, asks: Asks) -> Option<Value> {
        let line = answer(&call(event, "because"), &decision(effect), asks)?;
        Some(serde_json::from_str::<Value>(&line).unwrap()["hookSpecificOutput"].take())
    }

    // Observed on 0.169: the directory of a `cd` in the script is not told when a person is asked.
    #[test]
    fn a_patch_that_could_be_elsewhere_is_left_to_the_person_where_codex_asks() {
        let said = |file: &str, asks| {
            let patch = format!("*** Begin Patch\n*** Add File: {file}\n+a\n*** End Patch");
            let payload = json!({
                "hook_event_name": "PermissionRequest", "session_id": "s", "cwd": "/p",
                "tool_name": "apply_patch", "tool_input": { "command": patch },
            });
            let call = read(payload.to_string().as_bytes()).unwrap();
            answer(&call, &decision(Effect::Allow), asks).is_some()
        };
        assert!(said("a", Asks::Nobody));
        assert!(!said("a", Asks::Codex));
        assert!(said("/p/a", Asks::Codex));
    }

    /// `ask`, and `allow` without another input, are no answers to Codex: it would go on.
    #[test]
    fn before_a_tool_there_is_a_deny_or_nothing() {
        for asks in [Asks::Nobody, Asks::Codex] {
            assert_eq!(said(Event::PreToolUse, Effect::Allow, asks), None);
            let deny = said(Event::PreToolUse, Effect::Deny, asks).unwrap();
            assert_eq!(deny["permissionDecision"], "deny");
        }
        assert_eq!(said(Event::PreToolUse, Effect::Ask, Asks::Codex), None);
        let ask = said(Event::PreToolUse, Effect::Ask, Asks::Nobody).unwrap();
        assert_eq!(ask["permissionDecision"], "deny");
        let reason = ask["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("no rule matches `x y`") && reason.contains("Bash(x y)"));
    }

    #[test]
    fn a_person_who_is_asked_is_spared_what_the_policy_decides() {
        let of = |effect| said(Event::PermissionRequest, effect, Asks::Nobody);
        assert_eq!(of(Effect::Allow).unwrap()["decision"], json!({ "behavior": "allow" }));
        let deny = of(Effect::Deny).unwrap();
        assert_eq!(deny["decision"]["behavior"], "deny");
        assert!(deny["decision"]["message"].as_str().unwrap().contains("no rule matches"));
        assert_eq!(of(Effect::Ask), None);
    }

    /// A command that may run is no host that may be reached.
    #[test]
    fn a_host_is_left_to_the_person() {
        let asked = call(Event::PermissionRequest, "network-access https://x.example:443");
        assert_eq!(answer(&asked, &decision(Effect::Allow), Asks::Nobody), None);
        assert!(answer(&asked, &decision(Effect::Deny), Asks::Nobody).is_some());
    }

    #[test]
    fn without_a_decision_it_is_blocked() {
        let found: Value = serde_json::from_str(&undecided("x")).unwrap();
        assert_eq!(found["hookSpecificOutput"]["permissionDecision"], "deny");
    }
}
