//! Display of hooks as text and JSON.

use openoxide_engine::Engine;
use openoxide_permission::{Hook, HookEvent};
use openoxide_tui::{LineMode, escape_text};
use serde_json::{Value, json};

fn matching_hooks<'a>(engine: &'a Engine, tool: &'a str) -> impl Iterator<Item = &'a Hook> {
    engine.hooks().iter().filter(move |hook| hook.matcher.matches(tool))
}

/// Returns a text that lists the hooks that would be asked about a tool, one per line.
pub(crate) fn render_text(engine: &Engine, tool: &str) -> String {
    let line = |text: String| escape_text(&text, LineMode::SingleLine);
    let hook = |hook: &Hook| {
        let place = format!("{}, {}:{}", hook.layer.as_str(), hook.file, hook.line);
        format!("  {} ({}){}\n", line(hook.command.to_string()), line(place), describe_limits(hook))
    };
    let hooks: String = matching_hooks(engine, tool).map(hook).collect();
    match hooks.is_empty() {
        true => hooks,
        false => format!("hooks would be asked first; `explain` does not run them:\n{hooks}\n"),
    }
}

/// Returns a text that describes the limits of a hook and when it is asked.
pub(crate) fn describe_limits(hook: &Hook) -> String {
    let request = hook.event == HookEvent::PermissionRequest;
    let limits = [
        (request, "; where a person would be asked"),
        (!hook.is_trusted, "; the project is not trusted, so it is not run"),
        (hook.is_trusted && !hook.may_allow, "; it can only ask and deny"),
    ];
    limits.into_iter().filter(|(holds, _)| *holds).map(|(_, said)| said).collect()
}

/// Returns a hook as JSON.
pub(crate) fn hook_to_json(hook: &Hook) -> Value {
    json!({
        "layer": hook.layer.as_str(),
        "file": hook.file,
        "line": hook.line,
        "event": hook.event.as_str(),
        "matcher": hook.matcher.to_string(),
        "command": hook.command.to_string(),
        "timeout": hook.timeout.as_secs(),
        "may_allow": hook.may_allow,
        "trusted": hook.is_trusted,
    })
}

/// Adds the hooks that would be asked about a tool to an answer in JSON.
pub(crate) fn add_hooks_to_json(
    answer: &str,
    engine: &Engine,
    tool: &str,
) -> Result<String, serde_json::Error> {
    let hooks: Vec<Value> = matching_hooks(engine, tool).map(hook_to_json).collect();
    if hooks.is_empty() {
        return Ok(answer.to_owned());
    }
    let mut value: Value = serde_json::from_str(answer)?;
    if let Some(fields) = value.as_object_mut() {
        fields.insert("hooks".to_owned(), Value::Array(hooks));
    }
    Ok(format!("{value}\n"))
}
