//! Permission requests that Codex may understand as permission to run without its sandbox (observed
//! on 0.169).
//!
//! The payload of a permission request does not contain whether the model asks to run outside of
//! the sandbox. It contains the justification that the model gives, if it gives one. Codex also
//! repeats an approved command without the sandbox if it fails in the sandbox.

use openoxide_adapters::{
    agent_hook::{AgentHookCall, AgentHookEvent},
    tool_action::parse_action,
};
use openoxide_protocol::{Access, Action, CommandClass};
use openoxide_shell::{AnalysisContext, analyze_script};
use serde_json::Value;

use crate::hook::is_host_request;

/// Returns whether an approval of this call may let a command run outside of Codex's sandbox, and
/// whether that makes a difference. It makes none for a command that does only what its accesses
/// list, unless the model justifies the request.
#[must_use]
pub fn may_leave_sandbox(call: &AgentHookCall) -> bool {
    if call.event != AgentHookEvent::PermissionRequest || is_host_request(call) {
        return false;
    }
    let Action::Command { script } = parse_action(&call.tool, &call.input) else { return false };
    let setting = AnalysisContext { cwd: &call.cwd, home: None };
    is_justified(call) || !analyze_script(&script, &setting).accesses.iter().all(is_fully_listed)
}

fn is_justified(call: &AgentHookCall) -> bool {
    let text = call.input.get("description");
    text.is_some_and(|text| text.as_str().is_none_or(|text| !text.trim().is_empty()))
        && text != Some(&Value::Null)
}

fn is_fully_listed(access: &Access) -> bool {
    match access {
        Access::Exec(exec) => exec.class != CommandClass::Unknown,
        Access::Read(_) | Access::Edit(_) | Access::ExternalDirectory(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use openoxide_adapters::agent_hook::parse_payload;

    fn may_leave(event: &str, input: &Value) -> bool {
        let payload = json!({
            "hook_event_name": event, "session_id": "s", "cwd": "/p", "tool_name": "Bash",
            "tool_input": input,
        });
        may_leave_sandbox(&parse_payload(payload.to_string().as_bytes()).unwrap())
    }

    #[test]
    fn a_request_for_a_command_may_be_one_to_leave_the_sandbox() {
        let asked = "PermissionRequest";
        for (input, expected) in [
            (json!({ "command": "npm test", "description": "run outside" }), true),
            (json!({ "command": "ls", "description": "run outside" }), true),
            (json!({ "command": "ls", "description": ["x"] }), true),
            (json!({ "command": "npm test" }), true),
            (json!({ "command": "ls && npm test" }), true),
            (json!({ "command": "$X" }), true),
            (json!({ "command": "ls -l" }), false),
            (json!({ "command": "ls -l", "description": " " }), false),
            (json!({ "command": "touch a" }), false),
            (json!({ "command": "npm test", "description": "network-access https://x" }), false),
        ] {
            assert_eq!(may_leave(asked, &input), expected, "{input}");
            assert!(!may_leave("PreToolUse", &input), "{input}");
        }
    }
}
