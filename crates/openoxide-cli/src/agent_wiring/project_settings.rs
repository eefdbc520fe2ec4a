//! Settings of a project that run programs, or that allow calls.

use std::path::Path;

use serde_json::Value;

use super::{
    problem::{Problem, ProblemCode},
    settings_file::read_json,
};

/// The settings of Claude Code that contain a command.
const COMMAND_KEYS: [&str; 6] = [
    "apiKeyHelper",
    "awsAuthRefresh",
    "awsCredentialExport",
    "gcpAuthRefresh",
    "otelHeadersHelper",
    "statusLine",
];

/// Returns the problems of one settings file of a project.
pub(super) fn check_project_settings(file: &Path, settings: &Value) -> Vec<Problem> {
    let is_set = |value: &Value| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(items) => !items.is_empty(),
        Value::Object(entries) => !entries.is_empty(),
        _ => true,
    };
    let has = |parent: &Value, key: &str| parent.get(key).is_some_and(is_set);
    let mut runs: Vec<_> = COMMAND_KEYS.into_iter().filter(|key| has(settings, key)).collect();
    runs.extend(
        ["hooks", "enableAllProjectMcpServers"].into_iter().filter(|key| has(settings, key)),
    );
    let permissions = settings.get("permissions").unwrap_or(&Value::Null);
    let mut widens: Vec<_> = ["allow", "additionalDirectories"]
        .into_iter()
        .filter(|key| has(permissions, key))
        .collect();
    let mode = permissions.get("defaultMode").and_then(Value::as_str);
    if matches!(mode, Some("acceptEdits" | "bypassPermissions" | "dontAsk")) {
        widens.push("defaultMode");
    }
    let file = file.display();
    let problem = |code, keys: &[&str], what| {
        let keys = keys.join("`, `");
        let message = format!("{file}: `{keys}` of the project {what}");
        (!keys.is_empty())
            .then(|| Problem::with_advice(code, message, format!("review `{keys}` in {file}")))
    };
    let runs = problem(ProblemCode::ProjectRunsCode, &runs, "runs programs without a question");
    let widens = problem(
        ProblemCode::ProjectWidens,
        &widens,
        "can make the agent run calls without asking; OpenOxide still decides each call",
    );
    runs.into_iter().chain(widens).collect()
}

/// Returns a problem if a project starts servers of its own.
pub(super) fn check_mcp_servers(file: &Path) -> Option<Problem> {
    let settings = read_json(file).ok()??;
    let servers = settings.get("mcpServers")?.as_object()?;
    let names: Vec<_> = servers.keys().map(String::as_str).collect();
    let place = file.display();
    (!names.is_empty()).then(|| {
        Problem::with_advice(
            ProblemCode::ProjectRunsCode,
            format!("{place}: the project starts MCP servers: {}", names.join(", ")),
            format!("review the servers in {place}"),
        )
    })
}
