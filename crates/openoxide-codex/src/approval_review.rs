//! Translation of the Codex app server's approval requests to the operation and the question to
//! review, and of a person's choice to Codex's answer (observed on 0.169).
//!
//! An answer is sent only if Codex offers it and the person was shown it.

mod answer_options;
mod file_changes;
mod permission_request;
mod review_request;
mod tool_request;

use openoxide_protocol::{AbsPath, Action, CallId, Operation, PresentationKind, Principal};
use serde_json::{Value, json};

use self::review_request::build_presentation;
use super::app_server::{
    ApprovalParams, CommandApproval, CommandApprovalKind, FileChangeApproval,
    NetworkApprovalContext, PermissionsApproval, RequestOrigin,
};

pub use answer_options::{CodexAnswer, CodexAnswerOption, CodexAnswerOptions};
pub use review_request::{ReviewRequest, ThreadContext};

/// The name of the machine that the server runs on.
const LOCAL_ENVIRONMENT: &str = "local";

/// Translates a request into the operation and the question to review.
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
            "Run a command that requires a person's approval".to_owned()
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

/// Returns why a person has to approve a command even if a rule allows it.
fn human_approval_reason(approval: &CommandApproval) -> Option<&'static str> {
    let reasons = [
        (
            approval.kind == CommandApprovalKind::HumanCommand,
            "the administrator requires a person's approval",
        ),
        (
            approval.kind == CommandApprovalKind::WriteStdin,
            "input to a running program is not a command",
        ),
        (is_present(approval.additional_permissions.as_ref()), "it requests more permissions"),
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
        ("requested for the whole session", approval.grant_root.clone().map(Value::from)),
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
            .map(|_| "it requests a directory for the session"),
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
        human_approval_reason: Some("it requests more permissions for what follows"),
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

fn resolve_directory(text: &str) -> Result<AbsPath, &'static str> {
    AbsPath::new(text).map_err(|_| "its directory cannot be determined")
}

/// Returns the name of the machine if it is not the local one.
fn remote_environment(environment: Option<&str>) -> Option<Value> {
    environment.filter(|environment| *environment != LOCAL_ENVIRONMENT).map(Value::from)
}

fn is_present(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests;
