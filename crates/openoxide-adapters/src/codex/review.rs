//! A request for an approval of Codex's app server, as an operation for our gate and a question for a person; and a person's choice
//! as the answer that Codex takes (measured on 0.169).
//!
//! Nothing is answered that Codex does not offer, and nothing that is not shown.

mod changes;
mod offers;
mod permissions;
mod tool;

use std::collections::BTreeMap;

use openoxide_protocol::{
    AbsPath, Action, CallId, Operation, Presentation, PresentationKind, Principal, SessionId,
};
use serde_json::{Value, json};

use super::wire::{
    Asked, BegunCall, Change, CommandApproval, FileChangeApproval, Host, Kind, Origin,
    PermissionsApproval,
};
pub use offers::{Answer, Offered, Offers};

/// The machine that the server runs on.
const LOCAL: &str = "local";

/// What the messages before a request said of its conversation.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The directory of the conversation: that of a request is the model's choice.
    pub cwd: &'a AbsPath,
    /// The changes of the item that it is about.
    pub changes: Option<&'a [Change]>,
    /// The calls of tools that have begun in the conversation, and not ended.
    pub begun: &'a [&'a BegunCall],
    /// Its session, where the conversation's name is none.
    pub session: SessionId,
}

/// What a request wants.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// For the gate.
    pub operation: Operation,
    /// What it does beside that.
    pub also: Vec<Action>,
    /// One line that says what is wanted.
    pub title: String,
    /// What a person is shown.
    pub presentation: Presentation,
    /// Why no rule may say yes to it, if none may: a person has to.
    pub personal: Option<&'static str>,
}

/// Reads what a request wants.
///
/// # Errors
/// Why nobody can be shown what it is about: then it is somebody else's to answer.
pub fn wanted(asked: &Asked, scene: &Scene<'_>) -> Result<Wanted, &'static str> {
    match asked {
        Asked::Command(approval) => command(approval, scene),
        Asked::FileChange(approval) => files(approval, scene),
        Asked::Permissions(approval) => more(approval, scene),
        Asked::Tool(approval) => tool::wanted(approval, scene),
    }
}

fn command(approval: &CommandApproval, scene: &Scene<'_>) -> Result<Wanted, &'static str> {
    let cwd = approval.cwd.as_deref().map_or_else(|| Ok(scene.cwd.clone()), directory)?;
    let action = approval.action();
    let (kind, content) = match &action {
        Action::Command { script } => (PresentationKind::Command, script.clone()),
        Action::Fetch { url } => (PresentationKind::Text, url.clone()),
        _ => (PresentationKind::Text, approval.command.clone().ok_or("it names no command")?),
    };
    let title = match (&approval.network_approval_context, approval.kind) {
        (Some(Host { host, protocol }), _) => format!("Reach {host} by {protocol}"),
        (None, Kind::Command) => "Run a command".to_owned(),
        (None, Kind::WriteStdin) => "Type into a program that runs".to_owned(),
        (None, Kind::HumanCommand) => "Run a command that needs a person's yes".to_owned(),
    };
    let notes = [
        ("reason", approval.reason.clone().map(Value::from)),
        ("permissions", approval.additional_permissions.clone()),
        ("environment", elsewhere(approval.environment_id.as_deref())),
    ];
    let input = match &action {
        Action::Command { script } => json!({ "command": script }),
        _ => json!(approval),
    };
    Ok(Wanted {
        operation: operation(&approval.origin, scene, ("Bash", action, input), cwd),
        also: Vec::new(),
        title,
        presentation: presentation(kind, content, notes),
        personal: personal(approval),
    })
}

/// Says why an allow of a rule is not enough for a command.
fn personal(approval: &CommandApproval) -> Option<&'static str> {
    let reasons = [
        (approval.kind == Kind::HumanCommand, "the administrator wants a person's own yes"),
        (approval.kind == Kind::WriteStdin, "what is typed into a program is no command"),
        (has(approval.additional_permissions.as_ref()), "it wants more permissions"),
        (elsewhere(approval.environment_id.as_deref()).is_some(), "it runs on another machine"),
    ];
    reasons.into_iter().find_map(|(holds, why)| holds.then_some(why))
}

fn files(approval: &FileChangeApproval, scene: &Scene<'_>) -> Result<Wanted, &'static str> {
    let changes = scene.changes.filter(|changes| !changes.is_empty());
    let changes = changes.ok_or("what it would change was said before this client was there")?;
    let paths = changes::paths(changes);
    let title = changes::title(&paths);
    let notes = [
        ("reason", approval.reason.clone().map(Value::from)),
        ("wish for the whole session", approval.grant_root.clone().map(Value::from)),
    ];
    let call = ("apply_patch", Action::Edit { paths }, json!({ "changes": changes }));
    Ok(Wanted {
        operation: operation(&approval.origin, scene, call, scene.cwd.clone()),
        also: Vec::new(),
        title,
        presentation: presentation(PresentationKind::Diff, changes::diff(changes), notes),
        personal: approval.grant_root.as_ref().map(|_| "it wants a directory for the session"),
    })
}

fn more(approval: &PermissionsApproval, scene: &Scene<'_>) -> Result<Wanted, &'static str> {
    let cwd = directory(&approval.cwd)?;
    let content = permissions::lines(&approval.permissions);
    let notes = [
        ("reason", approval.reason.clone().map(Value::from)),
        ("environment", elsewhere(approval.environment_id.as_deref())),
    ];
    let input = json!({ "permissions": approval.permissions });
    let call = ("request_permissions", Action::CallTool, input);
    Ok(Wanted {
        operation: operation(&approval.origin, scene, call, cwd),
        also: permissions::actions(&approval.permissions),
        title: "Have more permissions".to_owned(),
        presentation: presentation(PresentationKind::Text, content, notes),
        personal: Some("it wants more permissions for what follows"),
    })
}

fn operation(
    origin: &Origin,
    scene: &Scene<'_>,
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

fn presentation(
    kind: PresentationKind,
    content: String,
    notes: impl IntoIterator<Item = (&'static str, Option<Value>)>,
) -> Presentation {
    let notes = notes.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let metadata: BTreeMap<_, _> = notes.filter(|(_, value)| !value.is_null()).collect();
    Presentation { kind, content, language: None, metadata }
}

fn directory(text: &str) -> Result<AbsPath, &'static str> {
    AbsPath::new(text).map_err(|_| "its directory cannot be determined")
}

/// Returns the name of the machine, if it is another one.
fn elsewhere(environment: Option<&str>) -> Option<Value> {
    environment.filter(|environment| *environment != LOCAL).map(Value::from)
}

fn has(value: Option<&Value>) -> bool {
    value.is_some_and(|value| !value.is_null())
}

#[cfg(test)]
mod tests;
