//! `rules list`: what is in force, hooks and rules.

use openoxide_permission::{Hook, Layer, Rule};
use openoxide_protocol::SCHEMA;
use openoxide_tui::{Lines, visible};
use serde_json::json;

use super::directories;
use crate::{
    args::{Global, PolicyArgs},
    error::CliError,
    exit::Exit,
    hooks, policy_args, report,
};

/// Lists the hooks, which are asked first, those that nobody vouched for, too; and the rules, the most precedent layer first.
pub(super) fn list(
    policy: &PolicyArgs,
    origins: bool,
    json: bool,
    global: Global,
) -> Result<Exit, CliError> {
    let engine = policy_args::open_with_layers(policy)?;
    let sound = policy_args::sound(&engine, global);
    let mut text = String::new();
    for hook in engine.hooks().iter().chain(engine.untrusted_hooks()) {
        text += &if json { hook_in_json(hook) } else { hook_in_words(hook, origins) };
        text.push('\n');
    }
    for layer in engine.layers() {
        for rule in &layer.rules {
            text += &if json { in_json(layer, rule) } else { in_words(layer, rule, origins) };
            text.push('\n');
        }
    }
    text += &directories::rows(&engine, origins, json);
    // What is wrong was said; the rules that are left are shown all the same.
    Ok(report::data(text.as_bytes(), sound.err().unwrap_or(Exit::Success)))
}

fn hook_in_json(hook: &Hook) -> String {
    json!({ "schema": SCHEMA, "hook": hooks::fields(hook) }).to_string()
}

fn hook_in_words(hook: &Hook, origins: bool) -> String {
    let text = format!("{} {}: {}", hook.event.as_str(), hook.matcher, hook.command);
    let (text, limits) = (visible(&text, Lines::One), hooks::limits(hook));
    let line = format!("{:<8} {:<6} {text}{limits}", hook.layer.as_str(), "hook");
    if origins {
        format!("{line}  {}:{}", visible(&hook.file, Lines::One), hook.line)
    } else {
        line
    }
}

fn in_json(layer: &Layer, rule: &Rule) -> String {
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

fn in_words(layer: &Layer, rule: &Rule, origins: bool) -> String {
    let text = visible(&rule.text, Lines::One);
    let line = format!("{:<8} {:<6} {text}", layer.kind.as_str(), rule.effect.as_str());
    match (origins, &layer.file) {
        (true, Some(file)) => format!("{line}  {}:{}", visible(file, Lines::One), rule.line),
        (true, None) => format!("{line}  ({})", origin(layer)),
        (false, _) => line,
    }
}

/// Says where the rules of a layer come from that no file holds.
fn origin(layer: &Layer) -> &'static str {
    match layer.kind {
        openoxide_permission::LayerKind::Default => "built in",
        _ => "command line",
    }
}
