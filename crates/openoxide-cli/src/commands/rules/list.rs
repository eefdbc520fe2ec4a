//! `rules list`: what is in force.

use openoxide_permission::{Layer, Rule};
use openoxide_protocol::SCHEMA;
use openoxide_tui::{Lines, visible};
use serde_json::json;

use super::directories;
use crate::{
    args::{Global, PolicyArgs},
    exit::Exit,
    policy::World,
    report,
};

/// Lists the rules, the most precedent layer first.
pub(super) fn list(
    policy: &PolicyArgs,
    origins: bool,
    json: bool,
    global: Global,
) -> Result<Exit, String> {
    let world = World::of(policy, true)?;
    let sound = world.sound(global);
    let mut text = String::new();
    for layer in &world.loaded.layers {
        for rule in &layer.rules {
            text += &if json { in_json(layer, rule) } else { in_words(layer, rule, origins) };
            text.push('\n');
        }
    }
    text += &directories::rows(&world, origins, json);
    // What is wrong was said; the rules that are left are shown all the same.
    Ok(report::data(text.as_bytes(), sound.err().unwrap_or(Exit::Success)))
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
