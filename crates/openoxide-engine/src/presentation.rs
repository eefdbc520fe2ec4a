//! The presentation of an operation for a reviewer.

use std::collections::BTreeMap;

use openoxide_protocol::{Action, Operation, PresentationKind, RequestPresentation};
use serde_json::Value;

/// Returns the presentation of an operation.
#[must_use]
pub fn present_operation(operation: &Operation) -> RequestPresentation {
    let (kind, content, language) = match &operation.action {
        Action::Command { script } => (PresentationKind::Command, script.clone(), Some("bash")),
        Action::Edit { paths } => return present_edit(operation, paths),
        Action::Read { paths } => (PresentationKind::Text, paths.join("\n"), None),
        Action::Fetch { url } => (PresentationKind::Text, url.clone(), None),
        Action::Connect { socket } => (PresentationKind::Text, socket.clone(), None),
        Action::CallTool | Action::Delegate { .. } | Action::Opaque { .. } => {
            (PresentationKind::Structured, pretty_json(&operation.input), Some("json"))
        }
    };
    RequestPresentation {
        kind,
        content,
        summary: None,
        language: language.map(str::to_owned),
        metadata: description_metadata(operation),
    }
}

fn present_edit(operation: &Operation, paths: &[String]) -> RequestPresentation {
    let text = |key: &str| operation.input.get(key).and_then(Value::as_str);
    let (kind, content) = match (text("old_string"), text("new_string"), text("content")) {
        (Some(old), Some(new), _) => {
            (PresentationKind::Diff, replacement_diff(&paths.join(", "), old, new))
        }
        (_, _, Some(content)) => (PresentationKind::FileContent, content.to_owned()),
        _ => (PresentationKind::Structured, pretty_json(&operation.input)),
    };
    RequestPresentation {
        kind,
        content,
        summary: None,
        language: None,
        metadata: description_metadata(operation),
    }
}

/// Returns a replacement as a diff: every old line is removed, every new line is added.
fn replacement_diff(path: &str, old: &str, new: &str) -> String {
    let lines = |sign: char, text: &str| {
        text.lines().map(|line| format!("{sign}{line}\n")).collect::<String>()
    };
    format!("--- {path}\n+++ {path}\n{}{}", lines('-', old), lines('+', new))
}

fn description_metadata(operation: &Operation) -> BTreeMap<String, Value> {
    let description = operation.input.get("description").filter(|value| value.is_string());
    description.map(|text| ("description".to_owned(), text.clone())).into_iter().collect()
}

fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Returns a one-line description of the operation.
#[must_use]
pub fn operation_title(operation: &Operation) -> String {
    action_title(&operation.action, &operation.tool)
}

/// Returns a one-line description of a call of this tool.
#[must_use]
pub fn action_title(action: &Action, tool: &str) -> String {
    match action {
        Action::Command { .. } => "Run a command".to_owned(),
        Action::Read { paths } => format!("Read {}", paths.join(", ")),
        Action::Edit { paths } => format!("Change {}", paths.join(", ")),
        Action::Fetch { url } => format!("Fetch {url}"),
        Action::Connect { socket } => connect_title(socket),
        Action::CallTool => format!("Call {tool}"),
        Action::Delegate { agent } => format!("Start a subagent: {agent}"),
        Action::Opaque { .. } => {
            format!("Call {tool} with an input that was not understood")
        }
    }
}

/// Returns a one-line description of a connection to a socket.
fn connect_title(socket: &str) -> String {
    match socket.split_once(':') {
        Some(("ssh-agent", host)) => format!("Sign in to {host} with your SSH agent"),
        _ => format!("Connect to the socket {socket}"),
    }
}
