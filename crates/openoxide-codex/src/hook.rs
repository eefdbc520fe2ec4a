//! The hooks of Codex, with one answer to each payload (observed on 0.169).
//!
//! Codex continues as if there were no hook when the hook fails, when it prints nothing, and also
//! when it answers `ask` or a bare `allow` before a tool. Therefore a call that requires a question
//! is blocked there, unless Codex itself asks a person about everything. The payload's directory is
//! the one that the command would run in (its `workdir`, relative to that of the session; earlier
//! versions may report the latter). The payload does not contain whether the model requests to run
//! the command outside of the sandbox (`sandbox_exit`).
//!
//! A script that calls `apply_patch` with a here-document is a command before the tool, and a patch
//! when a person is asked. The patch comes without the directory that the script changes to, so it
//! is then unknown which files it refers to.

use openoxide_protocol::{Action, Decision, Effect};
use serde_json::{Value, json};

use openoxide_adapters::{
    agent_hook::{
        AgentHookCall, AgentHookEvent, is_user_prompt_tool, render_permission_denial,
        render_permission_request, render_pre_tool_use, render_reason,
    },
    tool_action::parse_action,
};

/// The program that asks a person if the policy requires it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptOwner {
    /// No program reliably asks a person. A call that requires a question is blocked.
    Unavailable,
    /// Codex asks about everything that its own rules do not allow. Its approval policy is
    /// `untrusted`.
    Codex,
}

/// Returns the answer to a call as one line of JSON, or `None` if Codex should continue with its
/// own approval and sandbox, which no hook skips.
#[must_use]
pub fn render_hook_answer(
    call: &AgentHookCall,
    decision: &Decision,
    asks: PromptOwner,
) -> Option<String> {
    let reason = format!("OpenOxide: {}", render_reason(decision));
    match (call.event, decision.effect) {
        (AgentHookEvent::PermissionRequest, Effect::Allow) if is_host_request(call) => None,
        (_, Effect::Allow | Effect::Ask) if is_user_prompt_tool(&call.tool) => None,
        // With `PromptOwner::Codex` the call may have been left to Codex before the tool ran.
        // Otherwise the files have already been checked before the tool ran, with their
        // directories.
        (AgentHookEvent::PermissionRequest, Effect::Allow)
            if asks == PromptOwner::Codex && has_unknown_base(call) =>
        {
            None
        }
        (AgentHookEvent::PreToolUse, Effect::Deny) => {
            Some(render_pre_tool_use(Effect::Deny, &reason))
        }
        (AgentHookEvent::PreToolUse, Effect::Ask) if asks == PromptOwner::Unavailable => Some(
            render_pre_tool_use(Effect::Deny, &format!("{reason}. {}", approval_hint(decision))),
        ),
        (AgentHookEvent::PermissionRequest, Effect::Allow) => {
            Some(render_permission_request(&json!({ "behavior": "allow" })))
        }
        (AgentHookEvent::PermissionRequest, Effect::Deny) => {
            Some(render_permission_denial(&reason))
        }
        (AgentHookEvent::PreToolUse, Effect::Allow | Effect::Ask)
        | (AgentHookEvent::PermissionRequest, Effect::Ask) => None,
    }
}

/// Returns the answer for the case that no decision was possible, even if the event is unknown. It
/// blocks a call before the tool runs, and leaves a permission request to the person.
#[must_use]
pub fn render_undecided(why: &str) -> String {
    render_pre_tool_use(Effect::Deny, &format!("OpenOxide could not decide: {why}"))
}

/// Returns whether Codex asks about a host rather than about the command that contacts it, or
/// whether the model claims so.
pub(crate) fn is_host_request(call: &AgentHookCall) -> bool {
    let about = call.input.get("description").and_then(Value::as_str);
    about.is_some_and(|about| about.trim_start().starts_with("network-access "))
}

/// Returns whether a patch names files by paths that are relative to an unknown directory.
fn has_unknown_base(call: &AgentHookCall) -> bool {
    let patched = call.tool == "apply_patch";
    let files = match parse_action(&call.tool, &call.input) {
        Action::Edit { paths } if patched => paths,
        _ => Vec::new(),
    };
    files.iter().any(|file| !file.starts_with('/'))
}

/// Returns a hint about a rule that would allow the call.
fn approval_hint(decision: &Decision) -> String {
    let rule = decision
        .suggested_rules
        .first()
        .map_or_else(String::new, |rule| format!(" such as `{rule}`"));
    format!(
        "Approval is required, but there is no way to ask for it here; a rule{rule} would allow it"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use openoxide_adapters::agent_hook::parse_payload;

    fn call(event: AgentHookEvent, about: &str) -> AgentHookCall {
        let name = match event {
            AgentHookEvent::PreToolUse => "PreToolUse",
            AgentHookEvent::PermissionRequest => "PermissionRequest",
        };
        let input = json!({ "command": "x y", "description": about });
        let payload = json!({
            "hook_event_name": name, "session_id": "s", "cwd": "/p", "tool_name": "Bash",
            "tool_input": input,
        });
        parse_payload(payload.to_string().as_bytes()).unwrap()
    }

    fn decision(effect: Effect) -> Decision {
        Decision {
            effect,
            reason: "no rule matches `x y`".into(),
            rule: None,
            parts: vec![],
            findings: vec![],
            suggested_rules: vec!["Bash(x y)".into()],
            obligations: vec![],
        }
    }

    fn said(event: AgentHookEvent, effect: Effect, asks: PromptOwner) -> Option<Value> {
        let line = render_hook_answer(&call(event, "because"), &decision(effect), asks)?;
        Some(serde_json::from_str::<Value>(&line).unwrap()["hookSpecificOutput"].take())
    }

    // Observed on 0.169: the payload does not contain the directory of a `cd` in the script when a
    // person is asked.
    #[test]
    fn a_patch_that_could_be_elsewhere_is_left_to_the_person_where_codex_asks() {
        let said = |file: &str, asks| {
            let patch = format!("*** Begin Patch\n*** Add File: {file}\n+a\n*** End Patch");
            let payload = json!({
                "hook_event_name": "PermissionRequest", "session_id": "s", "cwd": "/p",
                "tool_name": "apply_patch", "tool_input": { "command": patch },
            });
            let call = parse_payload(payload.to_string().as_bytes()).unwrap();
            render_hook_answer(&call, &decision(Effect::Allow), asks).is_some()
        };
        assert!(said("a", PromptOwner::Unavailable));
        assert!(!said("a", PromptOwner::Codex));
        assert!(said("/p/a", PromptOwner::Codex));
    }

    /// Codex does not accept `ask`, or `allow` without a changed input, as an answer. It would
    /// continue.
    #[test]
    fn before_a_tool_there_is_a_deny_or_nothing() {
        for asks in [PromptOwner::Unavailable, PromptOwner::Codex] {
            assert_eq!(said(AgentHookEvent::PreToolUse, Effect::Allow, asks), None);
            let deny = said(AgentHookEvent::PreToolUse, Effect::Deny, asks).unwrap();
            assert_eq!(deny["permissionDecision"], "deny");
        }
        assert_eq!(said(AgentHookEvent::PreToolUse, Effect::Ask, PromptOwner::Codex), None);
        let ask = said(AgentHookEvent::PreToolUse, Effect::Ask, PromptOwner::Unavailable).unwrap();
        assert_eq!(ask["permissionDecision"], "deny");
        let reason = ask["permissionDecisionReason"].as_str().unwrap();
        assert!(reason.contains("no rule matches `x y`") && reason.contains("Bash(x y)"));
    }

    #[test]
    fn a_policy_decision_replaces_the_question_to_a_person() {
        let of = |effect| said(AgentHookEvent::PermissionRequest, effect, PromptOwner::Unavailable);
        assert_eq!(of(Effect::Allow).unwrap()["decision"], json!({ "behavior": "allow" }));
        let deny = of(Effect::Deny).unwrap();
        assert_eq!(deny["decision"]["behavior"], "deny");
        assert!(deny["decision"]["message"].as_str().unwrap().contains("no rule matches"));
        assert_eq!(of(Effect::Ask), None);
    }

    /// Permission to run a command is not permission to reach a host.
    #[test]
    fn a_host_is_left_to_the_person() {
        let asked = call(AgentHookEvent::PermissionRequest, "network-access https://x.example:443");
        assert_eq!(
            render_hook_answer(&asked, &decision(Effect::Allow), PromptOwner::Unavailable),
            None
        );
        assert!(
            render_hook_answer(&asked, &decision(Effect::Deny), PromptOwner::Unavailable).is_some()
        );
    }

    #[test]
    fn without_a_decision_it_is_blocked() {
        let found: Value = serde_json::from_str(&render_undecided("x")).unwrap();
        assert_eq!(found["hookSpecificOutput"]["permissionDecision"], "deny");
    }
}
