//! `rules diff`: the differences between two policies and their decisions.

use std::path::Path;

use openoxide_engine::{Engine, RecordedDecision, project_roots, read_history};
use openoxide_permission::{AdditionalDirectory, Layer, LayerKind, Rule};
use openoxide_protocol::{Decision, Effect, SCHEMA};
use openoxide_store::{UserEnvironment, find_project_root};
use openoxide_tui::{LineMode, escape_text};
use serde_json::{Value, json};

use super::policy_texts;
use crate::{
    args::{DiffArgs, GlobalArgs, PolicyArgs},
    commands::check,
    error::{CliError, rules_error::RulesError},
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};

/// Shows the differences between the rules, and the commands that are decided differently.
pub(super) fn diff_policies(args: &DiffArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let (old, new) = (open_policy(&args.old, args)?, open_policy(&args.new, args)?);
    for engine in [&old, &new] {
        if let Err(exit) = policy_args::check_policy(engine, global) {
            return Ok(exit);
        }
    }
    let mut found = Vec::new();
    found.extend(diff_setting(
        "audit",
        format_audit_requirement(&old),
        format_audit_requirement(&new),
    ));
    if let (Some(old), Some(new)) = (file_layer(&old), file_layer(&new)) {
        found.extend(diff_settings(old, new));
        found.extend(diff_rules(old, new));
    }
    found.extend(diff_directories(&old, &new));
    found.extend(diff_sandbox(&old, &new));
    if let Some(file) = &args.commands {
        found.extend(diff_decisions(&policy_texts::read_text_file(file)?, &old, &new)?);
    }
    if args.history {
        found.extend(diff_history(args, &old, &new)?);
    }
    let line = |found: &PolicyDifference| {
        if args.json { found.json.to_string() } else { found.text.clone() }
    };
    let text: String = found.iter().map(|found| line(found) + "\n").collect();
    let exit = if found.is_empty() { ProgramExit::Success } else { ProgramExit::Failure };
    Ok(user_messages::print_data(&text, exit))
}

/// A difference as text and as JSON.
struct PolicyDifference {
    text: String,
    json: Value,
}

fn open_policy(file: &Path, args: &DiffArgs) -> Result<Engine, CliError> {
    let policy = PolicyArgs {
        policy: vec![file.to_owned()],
        cwd: args.cwd.clone(),
        ..PolicyArgs::default()
    };
    policy_args::open_engine_with_layers(&policy)
}

/// Returns the layer of the policy file. The layer of the command line has no file.
fn file_layer(engine: &Engine) -> Option<&Layer> {
    engine.layers().iter().find(|layer| layer.kind == LayerKind::Cli && layer.file.is_some())
}

fn diff_settings(old: &Layer, new: &Layer) -> Vec<PolicyDifference> {
    let mode = |layer: &Layer| layer.mode.map_or("default", |mode| mode.as_str());
    let pairs = [
        ("mode", mode(old), mode(new)),
        ("combining", old.combining_algorithm.as_str(), new.combining_algorithm.as_str()),
    ];
    pairs.into_iter().filter_map(|(what, old, new)| diff_setting(what, old, new)).collect()
}

fn diff_setting(what: &str, old: &str, new: &str) -> Option<PolicyDifference> {
    (old != new).then(|| PolicyDifference {
        text: format!("~ {what}: {old} -> {new}"),
        json: json!({ "schema": SCHEMA, "kind": what, "old": old, "new": new }),
    })
}

fn format_audit_requirement(engine: &Engine) -> &'static str {
    if engine.requires_audit() { "required" } else { "not required" }
}

/// Returns the rules that only one of the layers has. Rules are the same if they have the same
/// patterns and effects, regardless of their texts.
fn diff_rules(old: &Layer, new: &Layer) -> Vec<PolicyDifference> {
    let alike = |a: &Rule, b: &Rule| a.patterns == b.patterns;
    let same = |a: &Rule, b: &Rule| {
        alike(a, b) && a.effect == b.effect && a.requires_human == b.requires_human
    };
    let missing = |rule: &&Rule, from: &Layer| !from.rules.iter().any(|other| same(rule, other));
    let mut added: Vec<&Rule> = new.rules.iter().filter(|rule| missing(rule, old)).collect();
    let mut found = Vec::new();
    for rule in old.rules.iter().filter(|rule| missing(rule, new)) {
        match added.iter().position(|other| alike(rule, other)) {
            Some(at) => found.push(changed_rule_difference(rule, added.remove(at))),
            None => found.push(rule_difference("removed", '-', rule)),
        }
    }
    found.extend(added.into_iter().map(|rule| rule_difference("added", '+', rule)));
    let ordered = old.combining_algorithm == new.combining_algorithm
        && old.combining_algorithm.as_str() == "last-match";
    let effects = |layer: &Layer| -> Vec<_> {
        layer.rules.iter().map(|rule| (rule.effect, rule.patterns.clone())).collect()
    };
    if found.is_empty() && ordered && effects(old) != effects(new) {
        let words = "~ the order of the rules changed, and the last match decides".to_owned();
        found.push(PolicyDifference {
            text: words,
            json: json!({ "schema": SCHEMA, "kind": "order" }),
        });
    }
    found
}

/// Returns the additional directories that only one of the policies has. Directories are compared
/// by path.
fn diff_directories(old: &Engine, new: &Engine) -> Vec<PolicyDifference> {
    let missing = |from: &Engine, of: &Engine| -> Vec<AdditionalDirectory> {
        let there = |one: &AdditionalDirectory| {
            of.configured_directories().any(|other| other.path == one.path)
        };
        from.configured_directories().filter(|one| !there(one)).cloned().collect()
    };
    let found = |kind: &str, mark: char, one: &AdditionalDirectory| PolicyDifference {
        text: format!(
            "{mark} directory {}  (line {})",
            escape_text(&one.text, LineMode::SingleLine),
            one.line
        ),
        json: json!({ "schema": SCHEMA, "kind": kind, "directory": one.text, "line": one.line }),
    };
    let removed = missing(old, new).into_iter().map(|one| found("removed", '-', &one));
    removed.chain(missing(new, old).iter().map(|one| found("added", '+', one))).collect()
}

fn diff_sandbox(old: &Engine, new: &Engine) -> Vec<PolicyDifference> {
    let found = |kind: &str, mark: char, line: &str| PolicyDifference {
        text: format!("{mark} sandbox {}", escape_text(line, LineMode::SingleLine)),
        json: json!({ "schema": SCHEMA, "kind": kind, "sandbox": line }),
    };
    let removed = super::sandbox_difference::find_missing_lines(old, new).into_iter();
    let added = super::sandbox_difference::find_missing_lines(new, old).into_iter();
    let removed = removed.map(|line| found("removed", '-', &line));
    removed.chain(added.map(|line| found("added", '+', &line))).collect()
}

fn rule_difference(kind: &str, mark: char, rule: &Rule) -> PolicyDifference {
    let (effect, text) = (rule.effect.as_str(), escape_text(&rule.text, LineMode::SingleLine));
    PolicyDifference {
        text: format!("{mark} {effect} {text}  (line {})", rule.line),
        json: json!({
            "schema": SCHEMA, "kind": kind, "effect": effect, "rule": rule.text, "line": rule.line,
        }),
    }
}

fn changed_rule_difference(old: &Rule, new: &Rule) -> PolicyDifference {
    let effect = |rule: &Rule| match rule.requires_human {
        true => format!("{} by a person", rule.effect.as_str()),
        false => rule.effect.as_str().to_owned(),
    };
    let text = escape_text(&new.text, LineMode::SingleLine);
    PolicyDifference {
        text: format!("~ {text}: {} -> {}  (line {})", effect(old), effect(new), new.line),
        json: json!({
            "schema": SCHEMA, "kind": "changed", "rule": new.text, "line": new.line,
            "old": effect(old), "new": effect(new),
        }),
    }
}

/// Returns the lines of a file with calls that are decided differently.
fn diff_decisions(
    text: &str,
    old: &Engine,
    new: &Engine,
) -> Result<Vec<PolicyDifference>, RulesError> {
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row = batch_row_from_line(line);
        let judge = |engine| {
            check::evaluate_line(engine, &row)
                .map_err(|error| RulesError::InvalidLine { line: at + 1, error })
        };
        let (before, after) = (judge(old)?, judge(new)?);
        if before.effect != after.effect {
            found.push(decision_difference(line, &before, &after));
        }
    }
    Ok(found)
}

/// Returns the recorded calls that are decided differently.
fn diff_history(
    args: &DiffArgs,
    old: &Engine,
    new: &Engine,
) -> Result<Vec<PolicyDifference>, CliError> {
    let past = read_history(&UserEnvironment::from_process(), args.since)?;
    if past.incomplete_calls > 0 {
        let lost = user_messages::format_times(past.incomplete_calls);
        user_messages::print_note(&format!("not compared (redacted or truncated): {lost}"));
    }
    if past.hook_decisions > 0 {
        let hooks = user_messages::format_times(past.hook_decisions);
        user_messages::print_note(&format!("not compared (decided by a hook): {hooks}"));
    }
    Ok(past.calls.iter().filter_map(|call| diff_recorded_call(call, old, new)).collect())
}

fn diff_recorded_call(
    call: &RecordedDecision,
    old: &Engine,
    new: &Engine,
) -> Option<PolicyDifference> {
    let roots = project_roots(&find_project_root(&call.call.cwd, old.home()));
    let again = call.call.to_call(old.home()).with_roots(roots);
    let judge = |engine: &Engine| engine.evaluate(&again).decision;
    let (before, after) = (judge(old), judge(new));
    (before.effect != after.effect).then(|| {
        let mut found = decision_difference(&call.call.title, &before, &after);
        found.text = format!("{}  ({})", found.text, user_messages::format_times(call.count));
        if let Some(fields) = found.json.as_object_mut() {
            fields.insert("kind".to_owned(), json!("history"));
            fields.insert("tool".to_owned(), json!(call.call.tool));
            fields.insert("times".to_owned(), json!(call.count));
            fields.insert("was".to_owned(), json!(call.effect));
        }
        found
    })
}

/// Returns the row of `check --batch` for a line, which is such a row or a command.
fn batch_row_from_line(line: &str) -> Vec<u8> {
    match serde_json::from_str::<Value>(line) {
        Ok(Value::Object(_)) => line.as_bytes().to_vec(),
        _ => json!({ "tool": "Bash", "input": { "command": line } }).to_string().into_bytes(),
    }
}

fn decision_difference(line: &str, old: &Decision, new: &Decision) -> PolicyDifference {
    let words = |effect: Effect| effect.as_str();
    let (before, after) = (words(old.effect), words(new.effect));
    let (shown, reason) =
        (escape_text(line, LineMode::SingleLine), escape_text(&new.reason, LineMode::SingleLine));
    PolicyDifference {
        text: format!("~ {shown}: {before} -> {after}: {reason}"),
        json: json!({
            "schema": SCHEMA, "kind": "decision", "call": line, "old": before, "new": after,
            "reason": new.reason,
        }),
    }
}
