//! A request for an approval of Codex's app server, as an operation for our gate and a question for a person; and a person's choice
//! as the answer that Codex takes (measured on 0.169).
//!
//! Nothing is answered that Codex does not offer, and nothing that is not shown.

mod answer_options;
mod file_changes;
mod permission_request;
mod tool_request;

use std::collections::BTreeMap;

use openoxide_protocol::{
    AbsPath, Action, CallId, Operation, PresentationKind, Principal, RequestPresentation, SessionId,
};
use serde_json::{Value, json};

use super::app_server::{
    ApprovalParams, CommandApproval, CommandApprovalKind, FileChangeApproval,
    NetworkApprovalContext, PermissionsApproval, RequestOrigin, StartedCall,
};
use crate::file_change::FileUpdateChange;
pub use answer_options::{CodexAnswer, CodexAnswerOption, CodexAnswerOptions};

/// The machine that the server runs on.
const LOCAL_ENVIRONMENT: &str = "local";

/// The context of a conversation, from the messages before a request.
#[derive(Clone, Copy, Debug)]
pub struct ThreadContext<'a> {
    /// The directory of the conversation: that of a request is the model's choice.
    pub cwd: &'a AbsPath,
    /// The changes of the item that it is about.
    pub changes: Option<&'a [FileUpdateChange]>,
    /// The calls of tools that have begun in the conversation, and not ended.
    pub started_calls: &'a [&'a StartedCall],
    /// Its session, where the conversation's name is none.
    pub session: SessionId,
}

/// A request for an approval, prepared for the gate and for a person.
#[derive(Clone, Debug, PartialEq)]
pub struct ReviewRequest {
    /// For the gate.
    pub operation: Operation,
    /// Actions that the request would allow in addition to the operation.
    pub additional_actions: Vec<Action>,
    /// A one-line summary of the request.
    pub title: String,
    /// The content that a person is shown.
    pub presentation: RequestPresentation,
    /// The reason why a person has to approve the request, if no rule may.
    pub human_approval_reason: Option<&'static str>,
}

/// Translates a request into the operation and the question that are reviewed.
///
/// # Errors
/// Returns the reason why the content of the request cannot be shown. Such a request is left to
/// other clients.
pub fn parse_review_request(
    asked: &ApprovalParams,
    scene: &ThreadContext<'_>,
) -> Result<ReviewRequest, &'static str> {
    match asked {
        ApprovalParams::Command(approval) => parse_command_request(approval, scene),
        ApprovalParams::FileChange(approval) => parse_file_request(approval, scene),
        ApprovalParams::Permissions(approval) => parse_permission_request(approval, scene),
        ApprovalParams::Tool(approval) => tool_request::parse_tool_request(approval, scene),
    }
}

fn parse_command_request(
    approval: &CommandApproval,
    scene: &ThreadContext<'_>,
) -> Result<ReviewRequest, &'static str> {
    let cwd = approval.cwd.as_deref().map_or_else(|| Ok(scene.cwd.clone()), resolve_directory)?;
    let action = approval.to_action();
    let (kind, content) = match &action {
        Action::Command { script } => (PresentationKind::Command, script.clone()),
        Action::Fetch { url } => (PresentationKind::Text, url.clone()),
        _ => (PresentationKind::Text, approval.command.clone().ok_or("it names no command")?),
    };
    let title = match (&approval.network_approval_context, approval.kind) {
        (Some(NetworkApprovalContext { host, protocol }), _) => {
            format!("Reach {host} by {protocol}")
        }
        (None, CommandApprovalKind::Command) => "Run a command".to_owned(),
        (None, CommandApprovalKind::WriteStdin) => "Type into a program that runs".to_owned(),
        (None, CommandApprovalKind::HumanCommand) => {
            "Run a command that needs a person's yes".to_owned()
        }
    };
    let notes = [
        ("reason", approval.reason.clone().map(Value::from)),
        ("permissions", approval.additional_permissions.clone()),
        ("environment", remote_environment(approval.environment_id.as_deref())),
    ];
    let input = match &action {
        Action::Command { script } => json!({ "command": script }),
        _ => json!(approval),
    };
    Ok(ReviewRequest {
        operation: build_operation(&approval.origin, scene, ("Bash", action, input), cwd),
        additional_actions: Vec::new(),
        title,
        presentation: build_presentation(kind, content, notes),
        human_approval_reason: human_approval_reason(approval),
    })
}

/// Returns why an allow rule is not enough for a command.
fn human_approval_reason(approval: &CommandApproval) -> Option<&'static str> {
    let reasons = [
        (
            approval.kind == CommandApprovalKind::HumanCommand,
            "the administrator wants a person's own yes",
        ),
        (
            approval.kind == CommandApprovalKind::WriteStdin,
            "input that is typed into a program is not a command",
        ),
        (is_present(approval.additional_permissions.as_ref()), "it wants more permissions"),
        (
            remote_environment(approval.environment_id.as_deref()).is_some(),
            "it runs on another machine",
        ),
    ];
    reasons.into_iter().find_map(|(holds, why)| holds.then_some(why))
}

fn parse_file_request(
    approval: &FileChangeApproval,
    scene: &ThreadContext<'_>,
) -> Result<ReviewRequest, &'static str> {
    let changes = scene.changes.filter(|changes| !changes.is_empty());
    let changes = changes.ok_or("the change was announced before this client connected")?;
    let paths = file_changes::collect_changed_paths(changes);
    let title = file_changes::render_title(&paths);
    let notes = [
        ("reason", approval.reason.clone().map(Value::from)),
        ("wish for the whole session", approval.grant_root.clone().map(Value::from)),
    ];
    let call = ("apply_patch", Action::Edit { paths }, json!({ "changes": changes }));
    Ok(ReviewRequest {
        operation: build_operation(&approval.origin, scene, call, scene.cwd.clone()),
        additional_actions: Vec::new(),
        title,
        presentation: build_presentation(
            PresentationKind::Diff,
            file_changes::render_diff(changes),
            notes,
        ),
        human_approval_reason: approval
            .grant_root
            .as_ref()
            .map(|_| "it wants a directory for the session"),
    })
}

fn parse_permission_request(
    approval: &PermissionsApproval,
    scene: &ThreadContext<'_>,
) -> Result<ReviewRequest, &'static str> {
    let cwd = resolve_directory(&approval.cwd)?;
    let content = permission_request::render_lines(&approval.permissions);
    let notes = [
        ("reason", approval.reason.clone().map(Value::from)),
        ("environment", remote_environment(approval.environment_id.as_deref())),
    ];
    let input = json!({ "permissions": approval.permissions });
    let call = ("request_permissions", Action::CallTool, input);
    Ok(ReviewRequest {
        operation: build_operation(&approval.origin, scene, call, cwd),
        additional_actions: permission_request::collect_actions(&approval.permissions),
        title: "Have more permissions".to_owned(),
        presentation: build_presentation(PresentationKind::Text, content, notes),
        human_approval_reason: Some("it wants more permissions for what follows"),
    })
}

fn build_operation(
    origin: &RequestOrigin,
    scene: &ThreadContext<'_>,
    (tool, action, input): (&str, Action, Value),
    cwd: AbsPath,
) -> Operation {
    Operation {
        session: origin.thread_id.parse().unwrap_or(scene.session),
        call: CallId(origin.item_id.clone()),
        principal: Principal::Agent,
        tool: tool.to_owned(),
        action,
        input,
        cwd,
    }
}

fn build_presentation(
    kind: PresentationKind,
    content: String,
    notes: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> RequestPresentation {
    let notes = notes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let metadata: BTreeMap<_, _> = notes.filter(|(_, value)| !value.is_null()).collect();
    RequestPresentation { kind, content, language: None, metadata }
}

fn resolve_directory(text: &str) -> Result<AbsPath, &'static str> {
    AbsPath::new(text).map_err(|_| "its directory cannot be determined")
}

/// Returns the name of the machine, if it is another one.
fn remote_environment(environment: Option<&str>) -> Option<Value> {
    environment.filter(|environment| *environment != LOCAL_ENVIRONMENT).map(Value::from)
}

fn is_present(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests;
