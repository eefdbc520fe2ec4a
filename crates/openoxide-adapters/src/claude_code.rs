//! The hooks of Claude Code, with one answer to each payload (its hook reference; observed on
//! 2.1.330).
//!
//! If a hook fails, the client continues as if the hook did not exist. Therefore there is always an
//! answer here, and it is an allow only if that was the decision.

mod bash;
mod command_words;
mod command_wrappers;
mod evaluation;
mod hook_matcher;
mod hooks;
mod host_rules;
mod opaque_constructs;
mod openoxide_hook;
mod path_patterns;
mod piped_commands;
mod readonly_commands;
mod rules;
mod screenshots;
mod script_rules;
mod settings;
mod settings_export;
mod settings_layer;
mod shell;
mod subagent_definition;
mod unicode_paths;
pub mod wiring;

pub use evaluation::ClaudePolicy;
pub use screenshots::alternative_screenshot_paths;
pub use settings::{ClaudeMode, ClaudeSettings};
pub use settings_export::render_settings;
pub use settings_layer::translate_settings;
pub use shell::{
    FinalDirectory, find_final_directory, find_shell_differences, possible_final_directories,
    quote_client_words,
};
pub use subagent_definition::{BUILT_IN_SUBAGENTS, may_define_subagent};
pub use unicode_paths::unnormalized_path;

use openoxide_protocol::{Decision, Effect};
use serde_json::{Value, json};

use crate::agent_hook::{
    AgentHookCall, AgentHookEvent, is_user_prompt_tool, render_changed_input,
    render_permission_denial, render_permission_request, render_pre_tool_use, render_question,
    render_reason,
};

/// Returns the answer to a hook as one line of JSON, or `None` if the client should continue as if
/// there were no hook.
///
/// A permission request is left to the person who is being asked, unless the policy itself allows
/// or denies. A tool that asks the person in its own dialog is answered with a deny or not at all.
#[must_use]
pub fn render_hook_answer(call: &AgentHookCall, decision: &Decision) -> Option<String> {
    let reason = format!("OpenOxide: {}", render_reason(decision));
    match (call.event, decision.effect) {
        (_, Effect::Allow | Effect::Ask) if is_user_prompt_tool(&call.tool) => None,
        (AgentHookEvent::PreToolUse, Effect::Ask) => Some(render_pre_tool_use(
            Effect::Ask,
            &format!("OpenOxide: {}", render_question(decision)),
        )),
        (AgentHookEvent::PreToolUse, effect) => Some(render_pre_tool_use(effect, &reason)),
        (AgentHookEvent::PermissionRequest, Effect::Ask) => None,
        (AgentHookEvent::PermissionRequest, Effect::Allow) => {
            Some(render_permission_request(&json!({ "behavior": "allow" })))
        }
        (AgentHookEvent::PermissionRequest, Effect::Deny) => {
            Some(render_permission_denial(&reason))
        }
    }
}

/// Returns the answer that allows a call with another input, which runs it in the sandbox.
#[must_use]
pub fn render_confined_answer(decision: &Decision, input: &Value) -> String {
    let reason = format!("OpenOxide: {}", render_reason(decision));
    render_changed_input(&reason, input)
}

/// Returns the answer that allows a permission request.
#[must_use]
pub fn render_permitted_request() -> String {
    render_permission_request(&json!({ "behavior": "allow" }))
}

/// Returns the answer for the case that no decision was possible: the client asks the person, or
/// denies if it cannot ask.
#[must_use]
pub fn render_undecided(why: &str) -> String {
    render_pre_tool_use(Effect::Ask, &format!("OpenOxide could not decide: {why}"))
}

#[cfg(test)]
mod tests {
    use openoxide_protocol::RuleRef;

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
            suggested_rules: vec![],
            obligations: vec![],
        }
    }

    fn call(event: AgentHookEvent, tool: &str) -> AgentHookCall {
        let name = match event {
            AgentHookEvent::PreToolUse => "PreToolUse",
            AgentHookEvent::PermissionRequest => "PermissionRequest",
        };
        let payload = json!({ "hook_event_name": name, "cwd": "/p", "tool_name": tool });
        crate::agent_hook::parse_payload(payload.to_string().as_bytes()).unwrap()
    }

    /// The allow of a hook leaves plan mode without asking the person (Claude Code 2.1.7 to
    /// 2.1.198).
    #[test]
    fn a_tool_that_asks_the_person_is_not_answered_in_the_persons_place() {
        for tool in ["ExitPlanMode", "AskUserQuestion", "EnterPlanMode"] {
            for event in [AgentHookEvent::PreToolUse, AgentHookEvent::PermissionRequest] {
                let answered = |effect| render_hook_answer(&call(event, tool), &decision(effect));
                assert_eq!(answered(Effect::Allow), None, "{tool}");
                assert_eq!(answered(Effect::Ask), None, "{tool}");
                assert!(answered(Effect::Deny).is_some_and(|line| line.contains("deny")), "{tool}");
            }
        }
        assert!(
            render_hook_answer(&call(AgentHookEvent::PreToolUse, "Bash"), &decision(Effect::Allow))
                .is_some()
        );
    }

    #[test]
    fn answers_are_in_the_clients_contract() {
        let line =
            render_hook_answer(&call(AgentHookEvent::PreToolUse, "Bash"), &decision(Effect::Deny))
                .unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        let expected = json!({"hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny",
            "permissionDecisionReason":
                "OpenOxide: `rm x` is denied by user policy (`deny Bash(rm *)`, /h/policy.toml:4)",
        }});
        assert_eq!(found, expected);
        assert_eq!(
            render_hook_answer(
                &call(AgentHookEvent::PermissionRequest, "Bash"),
                &decision(Effect::Ask)
            ),
            None
        );
        let line = render_hook_answer(
            &call(AgentHookEvent::PermissionRequest, "Bash"),
            &decision(Effect::Allow),
        )
        .unwrap();
        let found: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(found["hookSpecificOutput"]["decision"], json!({"behavior": "allow"}));
    }

    #[test]
    fn without_a_decision_a_person_is_asked() {
        let found: Value = serde_json::from_str(&render_undecided("x")).unwrap();
        assert_eq!(found["hookSpecificOutput"]["permissionDecision"], "ask");
    }
}
