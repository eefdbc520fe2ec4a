//! A call of a tool of an MCP server.

use openoxide_protocol::{Action, CallId, Operation, PresentationKind, Principal};
use serde_json::{Value, json};

use super::{Scene, Wanted, presentation};
use crate::codex::wire::ToolApproval;

/// Reads what a call wants. The question is the server's word until the call that it is about was said to begin.
pub(super) fn wanted(approval: &ToolApproval, scene: &Scene<'_>) -> Result<Wanted, &'static str> {
    let begun = scene.begun.iter().find(|begun| approval.is_about(begun));
    let begun = begun.ok_or("no call that was said to begin asks this: its server could")?;
    let (server, tool) = (&approval.server_name, &approval.call.tool_name);
    let input = match &begun.arguments {
        Value::Null => json!({}),
        arguments => arguments.clone(),
    };
    let content = serde_json::to_string_pretty(&input).unwrap_or_default();
    let notes = [
        ("question", (!approval.asks_plainly()).then(|| json!(approval.message))),
        ("description by the server", approval.call.tool_description.clone().map(Value::from)),
    ];
    let operation = Operation {
        session: approval.thread_id.parse().unwrap_or(scene.session),
        call: CallId(tool.clone()),
        principal: Principal::Agent,
        tool: format!("mcp__{server}__{tool}"),
        action: Action::CallTool,
        input,
        cwd: scene.cwd.clone(),
    };
    Ok(Wanted {
        operation,
        also: Vec::new(),
        title: format!("Call {tool} of the MCP server {server}"),
        presentation: presentation(PresentationKind::Text, content, notes),
        personal: personal(approval),
    })
}

/// Says why an allow of a rule is not enough for a call.
fn personal(approval: &ToolApproval) -> Option<&'static str> {
    let joined = [&approval.server_name, &approval.call.tool_name];
    if joined.iter().any(|name| name.contains("__")) {
        Some("a rule cannot tell its server from its tool")
    } else if !approval.asks_plainly() {
        Some("it is not asked in the words of Codex")
    } else {
        None
    }
}
