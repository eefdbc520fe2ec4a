//! Requests for more permissions, as accesses to the files that they would permit. A rule that
//! denies one of these accesses applies.

use openoxide_protocol::Action;
use serde_json::Value;

/// Returns the actions that the permissions would allow. Permissions that cannot be parsed become
/// opaque actions.
pub(super) fn collect_actions(permissions: &Value) -> Vec<Action> {
    let files = permissions.get("fileSystem").unwrap_or(&Value::Null);
    let list = |name: &str| files.get(name).and_then(Value::as_array).into_iter().flatten();
    let named = |name: &str, make: fn(Vec<String>) -> Action| {
        let paths: Vec<_> = list(name).filter_map(Value::as_str).map(str::to_owned).collect();
        (!paths.is_empty()).then(|| make(paths))
    };
    let listed = [
        named("read", |paths| Action::Read { paths }),
        named("write", |paths| Action::Edit { paths }),
    ];
    let mut all: Vec<Action> = Vec::new();
    // The paths in the lists are usually repeated in the entries.
    for action in listed.into_iter().flatten().chain(list("entries").filter_map(parse_entry)) {
        if !all.contains(&action) {
            all.push(action);
        }
    }
    all
}

/// Returns all permissions as lines.
pub(super) fn render_lines(permissions: &Value) -> String {
    let mut lines: Vec<String> =
        collect_actions(permissions).iter().map(render_permission).collect();
    let rest = |of: &Value, told: &[&str]| {
        let fields = of.as_object().into_iter().flatten();
        let fields = fields.filter(|(name, value)| !told.contains(&&***name) && !value.is_null());
        fields.map(|(name, value)| format!("{name}: {value}")).collect::<Vec<_>>()
    };
    lines.extend(rest(permissions, &["fileSystem"]));
    let files = permissions.get("fileSystem").unwrap_or(&Value::Null);
    lines.extend(rest(files, &["read", "write", "entries"]));
    lines.join("\n")
}

fn render_permission(action: &Action) -> String {
    match action {
        Action::Read { paths } => format!("read {}", paths.join(", ")),
        Action::Edit { paths } => format!("change {}", paths.join(", ")),
        Action::Opaque { text } => text.clone(),
        Action::Command { script } => format!("run {script}"),
        Action::Fetch { url } => format!("fetch {url}"),
        Action::Connect { socket } => format!("connect to {socket}"),
        Action::Delegate { agent } => format!("start the subagent {agent}"),
        Action::CallTool => "call the tool".to_owned(),
    }
}

/// Parses one entry. Returns `None` if the entry denies access.
fn parse_entry(entry: &Value) -> Option<Action> {
    let path = entry.get("path").unwrap_or(&Value::Null);
    let text = path.get("path").and_then(Value::as_str);
    let paths = text.map(|text| vec![text.to_owned()]);
    let plain = path.get("type").and_then(Value::as_str) == Some("path");
    match (entry.get("access").and_then(Value::as_str), paths.filter(|_| plain)) {
        (Some("deny"), _) => None,
        (Some("read"), Some(paths)) => Some(Action::Read { paths }),
        (Some("write"), Some(paths)) => Some(Action::Edit { paths }),
        _ => Some(Action::Opaque { text: format!("open {entry}") }),
    }
}
