//! Approval requests for tools of an MCP server.

use openoxide_protocol::{Action, CallId, Operation, PresentationKind, Principal};
use serde_json::{Value, json};

use super::review_request::{ReviewRequest, ThreadContext, build_presentation};
use crate::app_server::McpToolApproval;

/// Translates a request for a tool call. The question is only the server's claim until its call has
/// been reported as started.
pub(super) fn parse_tool_request(
    approval: &McpToolApproval,
    scene: &ThreadContext<'_>,
) -> Result<ReviewRequest, &'static str> {
    let begun = scene.started_calls.iter().find(|begun| approval.matches_call(begun));
    let begun =
        begun.ok_or("no announced call asks this; the server of the tool could have sent it")?;
    let (server, tool) = (&approval.server_name, &approval.call.tool_name);
    let input = match &begun.arguments {
        Value::Null => json!({}),
        arguments => arguments.clone(),
    };
    let content = serde_json::to_string_pretty(&input).unwrap_or_default();
    let notes = [
        ("question", (!approval.is_standard_message()).then(|| json!(approval.message))),
        ("description by the server", approval.call.tool_description.clone().map(Value::from)),
    ];
    let operation = Operation {
        session: approval.thread_id.parse().unwrap_or(scene.session),
        call: CallId(tool.clone()),
        principal: Principal::Agent,
        tool: hook_tool_name(approval),
        action: Action::CallTool,
        input,
        cwd: scene.cwd.clone(),
    };
    Ok(ReviewRequest {
        operation,
        additional_actions: Vec::new(),
        title: format!("Call {tool} of the MCP server {server}"),
        presentation: build_presentation(PresentationKind::Text, content, notes),
        human_approval_reason: human_approval_reason(approval),
    })
}

/// Returns the name that Codex passes to its hooks for the tool, so that the same rules match it
/// here.
fn hook_tool_name(approval: &McpToolApproval) -> String {
    let [server, tool] = sanitize_names(approval);
    format!("mcp__{server}__{tool}")
}

fn sanitize_names(approval: &McpToolApproval) -> [String; 2] {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
    let parts = [&approval.server_name, &approval.call.tool_name];
    parts.map(|part| part.chars().map(plain).collect())
}

/// Returns whether the name could also refer to another tool of another server.
fn is_ambiguous_name(approval: &McpToolApproval) -> bool {
    let [server, tool] = sanitize_names(approval);
    let joint = server.ends_with('_') || tool.starts_with('_');
    joint || [server, tool].iter().any(|part| part.contains("__"))
}

/// Returns why a person has to approve a call even if a rule allows it.
fn human_approval_reason(approval: &McpToolApproval) -> Option<&'static str> {
    if is_ambiguous_name(approval) {
        Some("its name does not separate the server from the tool")
    } else if !approval.is_standard_message() {
        Some("the question does not have Codex's wording")
    } else {
        None
    }
}
