//! `rules list`: the hooks and rules in force.

use openoxide_permission::{Hook, Layer, Rule};
use openoxide_protocol::SCHEMA;
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use super::directory_rows;
use crate::{
    args::{GlobalArgs, PolicyArgs},
    error::CliError,
    hook_display, policy_args,
    program_exit::ProgramExit,
    user_messages,
};

/// Lists the hooks, including untrusted ones, and then the rules, highest precedence first.
pub(super) fn list_rules(
    policy: &PolicyArgs,
    origins: bool,
    json: bool,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let engine = policy_args::open_engine_with_layers(policy)?;
    let sound = policy_args::check_policy(&engine, global);
    let mut text = String::new();
    for hook in engine.hooks().iter().chain(engine.untrusted_hooks()) {
        text += &if json { render_hook_json(hook) } else { render_hook_text(hook, origins) };
        text.push('\n');
    }
    for layer in engine.layers() {
        for rule in &layer.rules {
            text +=
                &if json { render_json(layer, rule) } else { render_text(layer, rule, origins) };
            text.push('\n');
        }
    }
    text += &directory_rows::render_directories(&engine, origins, json);
    // The problems were reported; the remaining rules are listed.
    Ok(user_messages::print_data(&text, sound.err().unwrap_or(ProgramExit::Success)))
}

fn render_hook_json(hook: &Hook) -> String {
    json!({ "schema": SCHEMA, "hook": hook_display::hook_to_json(hook) }).to_string()
}

fn render_hook_text(hook: &Hook, origins: bool) -> String {
    let text = format!("{} {}: {}", hook.event.as_str(), hook.matcher, hook.command);
    let (text, limits) =
        (escape_text(&text, LineMode::SingleLine), hook_display::describe_limits(hook));
    let line = format!("{:<8} {:<6} {text}{limits}", hook.layer.as_str(), "hook");
    if origins {
        format!("{line}  {}:{}", escape_text(&hook.file, LineMode::SingleLine), hook.line)
    } else {
        line
    }
}

fn render_json(layer: &Layer, rule: &Rule) -> String {
    json!({
        "schema": SCHEMA,
        "layer": layer.kind.as_str(),
        "file": layer.file,
        "line": (rule.line != 0).then_some(rule.line),
        "effect": rule.effect.as_str(),
        "rule": rule.text,
        "reason": rule.reason,
    })
    .to_string()
}

fn render_text(layer: &Layer, rule: &Rule, origins: bool) -> String {
    let text = escape_text(&rule.text, LineMode::SingleLine);
    let line = format!("{:<8} {:<6} {text}", layer.kind.as_str(), rule.effect.as_str());
    match (origins, &layer.file) {
        (true, Some(file)) => {
            format!("{line}  {}:{}", escape_text(file, LineMode::SingleLine), rule.line)
        }
        (true, None) => format!("{line}  ({})", layer_origin(layer)),
        (false, _) => line,
    }
}

/// Returns the origin of the rules of a layer that has no file.
fn layer_origin(layer: &Layer) -> &'static str {
    match layer.kind {
        openoxide_permission::LayerKind::Default => "built in",
        _ => "command line",
    }
}
