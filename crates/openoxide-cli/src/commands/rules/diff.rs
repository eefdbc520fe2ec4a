//! `rules diff`: what another policy would decide otherwise.

use std::path::Path;

use openoxide_engine::{Engine, RecordedCall, project_roots, read_history};
use openoxide_permission::{Directory, Layer, LayerKind, Rule};
use openoxide_protocol::{Decision, Effect, SCHEMA};
use openoxide_store::{Environment, project_root};
use openoxide_tui::{Lines, visible};
use serde_json::{Value, json};

use super::files;
use crate::{
    args::{DiffArgs, Global, PolicyArgs},
    commands::{audit::times, check},
    error::CliError,
    exit::Exit,
    policy_args, report,
};

/// Shows each difference between the rules, and each command that is decided otherwise.
pub(super) fn diff(args: &DiffArgs, global: Global) -> Result<Exit, CliError> {
    let (old, new) = (open(&args.old, args)?, open(&args.new, args)?);
    for engine in [&old, &new] {
        if let Err(exit) = policy_args::sound(engine, global) {
            return Ok(exit);
        }
    }
    let mut found = Vec::new();
    found.extend(setting("audit", required(&old), required(&new)));
    if let (Some(old), Some(new)) = (layer(&old), layer(&new)) {
        found.extend(settings(old, new));
        found.extend(rules(old, new));
    }
    found.extend(directories(&old, &new));
    found.extend(sandbox(&old, &new));
    if let Some(file) = &args.commands {
        found.extend(decisions(&files::text(file)?, &old, &new)?);
    }
    if args.history {
        found.extend(history(args, &old, &new)?);
    }
    let line = |found: &Found| if args.json { found.json.to_string() } else { found.words.clone() };
    let text: String = found.iter().map(|found| line(found) + "\n").collect();
    let exit = if found.is_empty() { Exit::Success } else { Exit::Failure };
    Ok(report::data(text.as_bytes(), exit))
}

/// One difference, for a person and for a program.
struct Found {
    words: String,
    json: Value,
}

fn open(file: &Path, args: &DiffArgs) -> Result<Engine, CliError> {
    let policy = PolicyArgs {
        policy: vec![file.to_owned()],
        cwd: args.cwd.clone(),
        ..PolicyArgs::default()
    };
    policy_args::open_with_layers(&policy)
}

/// Returns the layer of the file; the other is that of the command line, which is empty.
fn layer(engine: &Engine) -> Option<&Layer> {
    engine.layers().iter().find(|layer| layer.kind == LayerKind::Cli && layer.file.is_some())
}

fn settings(old: &Layer, new: &Layer) -> Vec<Found> {
    let mode = |layer: &Layer| layer.mode.map_or("default", |mode| mode.as_str());
    let pairs = [
        ("mode", mode(old), mode(new)),
        ("combining", old.combining.as_str(), new.combining.as_str()),
    ];
    pairs.into_iter().filter_map(|(what, old, new)| setting(what, old, new)).collect()
}

fn setting(what: &str, old: &str, new: &str) -> Option<Found> {
    (old != new).then(|| Found {
        words: format!("~ {what}: {old} -> {new}"),
        json: json!({ "schema": SCHEMA, "kind": what, "old": old, "new": new }),
    })
}

fn required(engine: &Engine) -> &'static str {
    if engine.requires_audit() { "required" } else { "not required" }
}

/// Rules are the same when they match the same and ask for the same, however they are written.
fn rules(old: &Layer, new: &Layer) -> Vec<Found> {
    let alike = |a: &Rule, b: &Rule| a.patterns == b.patterns;
    let same = |a: &Rule, b: &Rule| alike(a, b) && a.effect == b.effect && a.human == b.human;
    let missing = |rule: &&Rule, from: &Layer| !from.rules.iter().any(|other| same(rule, other));
    let mut added: Vec<&Rule> = new.rules.iter().filter(|rule| missing(rule, old)).collect();
    let mut found = Vec::new();
    for rule in old.rules.iter().filter(|rule| missing(rule, new)) {
        match added.iter().position(|other| alike(rule, other)) {
            Some(at) => found.push(changed(rule, added.remove(at))),
            None => found.push(one("removed", '-', rule)),
        }
    }
    found.extend(added.into_iter().map(|rule| one("added", '+', rule)));
    let ordered = old.combining == new.combining && old.combining.as_str() == "last-match";
    let effects = |layer: &Layer| -> Vec<_> {
        layer.rules.iter().map(|rule| (rule.effect, rule.patterns.clone())).collect()
    };
    if found.is_empty() && ordered && effects(old) != effects(new) {
        let words = "~ the order of the rules changed, and the last match decides".to_owned();
        found.push(Found { words, json: json!({ "schema": SCHEMA, "kind": "order" }) });
    }
    found
}

/// Directories are the same when they lie at the same place.
fn directories(old: &Engine, new: &Engine) -> Vec<Found> {
    let missing = |from: &Engine, of: &Engine| -> Vec<Directory> {
        let there = |one: &Directory| of.directories().any(|other| other.path == one.path);
        from.directories().filter(|one| !there(one)).cloned().collect()
    };
    let found = |kind: &str, mark: char, one: &Directory| Found {
        words: format!("{mark} directory {}  (line {})", visible(&one.text, Lines::One), one.line),
        json: json!({ "schema": SCHEMA, "kind": kind, "directory": one.text, "line": one.line }),
    };
    let removed = missing(old, new).into_iter().map(|one| found("removed", '-', &one));
    removed.chain(missing(new, old).iter().map(|one| found("added", '+', one))).collect()
}

fn sandbox(old: &Engine, new: &Engine) -> Vec<Found> {
    let found = |kind: &str, mark: char, line: &str| Found {
        words: format!("{mark} sandbox {}", visible(line, Lines::One)),
        json: json!({ "schema": SCHEMA, "kind": kind, "sandbox": line }),
    };
    let removed = super::sandbox::missing(old, new).into_iter();
    let added = super::sandbox::missing(new, old).into_iter();
    let removed = removed.map(|line| found("removed", '-', &line));
    removed.chain(added.map(|line| found("added", '+', &line))).collect()
}

fn one(kind: &str, mark: char, rule: &Rule) -> Found {
    let (effect, text) = (rule.effect.as_str(), visible(&rule.text, Lines::One));
    Found {
        words: format!("{mark} {effect} {text}  (line {})", rule.line),
        json: json!({
            "schema": SCHEMA, "kind": kind, "effect": effect, "rule": rule.text, "line": rule.line,
        }),
    }
}

fn changed(old: &Rule, new: &Rule) -> Found {
    let effect = |rule: &Rule| match rule.human {
        true => format!("{} by a person", rule.effect.as_str()),
        false => rule.effect.as_str().to_owned(),
    };
    let text = visible(&new.text, Lines::One);
    Found {
        words: format!("~ {text}: {} -> {}  (line {})", effect(old), effect(new), new.line),
        json: json!({
            "schema": SCHEMA, "kind": "changed", "rule": new.text, "line": new.line,
            "old": effect(old), "new": effect(new),
        }),
    }
}

fn decisions(text: &str, old: &Engine, new: &Engine) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = row(line);
        let judge =
            |engine| check::line(engine, &row).map_err(|error| format!("line {}: {error}", at + 1));
        let (before, after) = (judge(old)?, judge(new)?);
        if before.effect != after.effect {
            found.push(decided(line, &before, &after));
        }
    }
    Ok(found)
}

/// Returns what the recorded past would be answered otherwise.
fn history(args: &DiffArgs, old: &Engine, new: &Engine) -> Result<Vec<Found>, CliError> {
    let past = read_history(&Environment::read(), args.since)?;
    if past.lost > 0 {
        let lost = times(past.lost);
        report::note(&format!("not compared (redacted or truncated): {lost}"));
    }
    if past.by_hooks > 0 {
        let hooks = times(past.by_hooks);
        report::note(&format!("not compared (decided by a hook): {hooks}"));
    }
    Ok(past.calls.iter().filter_map(|call| otherwise(call, old, new)).collect())
}

fn otherwise(call: &RecordedCall, old: &Engine, new: &Engine) -> Option<Found> {
    let roots = project_roots(&project_root(&call.what.cwd, old.home()));
    let again = call.what.to_call(old.home()).in_project(roots);
    let judge = |engine: &Engine| engine.evaluate(&again).decision;
    let (before, after) = (judge(old), judge(new));
    (before.effect != after.effect).then(|| {
        let mut found = decided(&call.what.title, &before, &after);
        found.words = format!("{}  ({})", found.words, times(call.times));
        if let Some(fields) = found.json.as_object_mut() {
            fields.insert("kind".to_owned(), json!("history"));
            fields.insert("tool".to_owned(), json!(call.what.tool));
            fields.insert("times".to_owned(), json!(call.times));
            fields.insert("was".to_owned(), json!(call.was));
        }
        found
    })
}

/// A line is a call as `check --batch` takes it, or a command.
fn row(line: &str) -> Vec<u8> {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(_)) => line.as_bytes().to_vec(),
        _ => json!({ "tool": "Bash", "input": { "command": line } }).to_string().into_bytes(),
    }
}

fn decided(line: &str, old: &Decision, new: &Decision) -> Found {
    let words = |effect: Effect| effect.as_str();
    let (before, after) = (words(old.effect), words(new.effect));
    let (shown, reason) = (visible(line, Lines::One), visible(&new.reason, Lines::One));
    Found {
        words: format!("~ {shown}: {before} -> {after}: {reason}"),
        json: json!({
            "schema": SCHEMA, "kind": "decision", "call": line, "old": before, "new": after,
            "reason": new.reason,
        }),
    }
}
