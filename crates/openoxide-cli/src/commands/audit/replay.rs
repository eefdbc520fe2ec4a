//! `audit replay`: the decisions of the current policy, or of another one, about recorded calls.

use std::{collections::HashMap, path::PathBuf};

use openoxide_engine::{CallHistory, Engine, RecordedDecision, project_roots, read_history};
use openoxide_protocol::{AbsPath, Decision, Effect, SCHEMA};
use openoxide_store::{UserEnvironment, find_project_root};
use openoxide_tui::{LineMode, escape_text};
use serde_json::{Value, json};

use super::record_row;
use crate::{
    args::{GlobalArgs, PolicyArgs, ReplayArgs},
    error::CliError,
    policy_args,
    program_exit::ProgramExit,
    user_messages,
};

const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Ask, Effect::Deny];

/// Decides recorded calls again, and prints the decisions that differ.
pub(super) fn replay_history(
    args: &ReplayArgs,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let here = policy_args::open_engine(&args.policy)?;
    if let Err(exit) = policy_args::check_policy(&here, global) {
        return Ok(exit);
    }
    let environment = UserEnvironment::from_process();
    let past = read_history(&environment, args.since)?;
    let mut engines =
        ProjectEngines { args: &args.policy, home: environment.home, engines: HashMap::new() };
    let mut found = ReplayResult::default();
    for call in &past.calls {
        match engines.decide_call(call)? {
            Some(decision) => found.add_decision(call, decision),
            None => found.undecidable += call.count,
        }
    }
    let text = if args.json { found.to_json(&past) } else { found.to_text(&past, args.limit) };
    let exit = if found.changed.is_empty() { ProgramExit::Success } else { ProgramExit::Failure };
    Ok(user_messages::print_data(&text, exit))
}

/// The policies of the projects of the recorded calls.
struct ProjectEngines<'a> {
    args: &'a PolicyArgs,
    home: Option<AbsPath>,
    engines: HashMap<AbsPath, Engine>,
}

impl ProjectEngines<'_> {
    /// Decides a call in its project; `None` if the policy there has errors.
    fn decide_call(&mut self, call: &RecordedDecision) -> Result<Option<Decision>, CliError> {
        let project = find_project_root(&call.call.cwd, self.home.as_ref());
        if !self.engines.contains_key(&project) {
            let cwd = self.args.cwd.clone().or_else(|| Some(PathBuf::from(project.as_str())));
            let engine = policy_args::open_engine(&PolicyArgs { cwd, ..self.args.clone() })?;
            self.engines.insert(project.clone(), engine);
        }
        let engine = self.engines.get(&project).filter(|engine| engine.is_policy_valid());
        Ok(engine.map(|engine| {
            // With a named policy for all calls, each call is still evaluated in its own project.
            let roots = match self.args.cwd {
                Some(_) => project_roots(&project),
                None => engine.roots().to_vec(),
            };
            let again = call.call.to_call(self.home.as_ref()).with_roots(roots);
            engine.evaluate(&again).decision
        }))
    }
}

/// The result of a replay.
#[derive(Default)]
struct ReplayResult<'a> {
    unchanged: u64,
    changed: Vec<(&'a RecordedDecision, Decision)>,
    undecidable: u64,
}

impl<'a> ReplayResult<'a> {
    fn add_decision(&mut self, call: &'a RecordedDecision, decision: Decision) {
        match decision.effect == call.effect {
            true => self.unchanged += call.count,
            false => self.changed.push((call, decision)),
        }
    }

    /// Returns the number of calls for each pair of a recorded and a current decision.
    fn count_changes(&self) -> Vec<(Effect, Effect, u64)> {
        let pairs = EFFECTS.into_iter().flat_map(|old| EFFECTS.map(|new| (old, new)));
        let count = |old, new| {
            let so = |(call, now): &&(&RecordedDecision, Decision)| {
                call.effect == old && now.effect == new
            };
            self.changed.iter().filter(so).map(|(call, _)| call.count).sum()
        };
        let counts = pairs.map(|(old, new)| (old, new, count(old, new)));
        counts.filter(|(.., count)| *count > 0).collect()
    }

    fn changed_calls(&self) -> u64 {
        self.changed.iter().map(|(call, _)| call.count).sum()
    }

    fn to_text(&self, past: &CallHistory, limit: usize) -> String {
        let (same, differ) = (self.unchanged, self.changed_calls());
        let all = same + differ;
        let mut lines = vec![format!(
            "{all} recorded calls decided again: {same} unchanged, {differ} different"
        )];
        let count = |(old, new, count): (Effect, Effect, u64)| {
            format!("{count:>7}  {} -> {}", old.as_str(), new.as_str())
        };
        lines.extend(self.count_changes().into_iter().map(count));
        lines.extend(
            self.skipped_calls(past).map(|(count, why)| format!("{count:>7}  skipped: {why}")),
        );
        let shown = self.changed.iter().take(limit);
        lines.extend(shown.map(|(call, decision)| render_text(call, decision)));
        let more = self.changed.len().saturating_sub(limit);
        lines.extend((more > 0).then(|| format!("\n{more} more omitted; see --limit")));
        lines.join("\n") + "\n"
    }

    fn skipped_calls(&self, past: &CallHistory) -> impl Iterator<Item = (u64, &'static str)> {
        [
            (past.incomplete_calls, "redacted or truncated input"),
            (past.hook_decisions, "decided by a hook, and hooks are not run again"),
            (self.undecidable, "the policy of their project has errors"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
    }

    fn to_json(&self, past: &CallHistory) -> String {
        let mut lines: Vec<Value> =
            self.changed.iter().map(|(call, decision)| render_json(call, decision)).collect();
        let changed = self
            .count_changes()
            .into_iter()
            .map(|(old, new, count)| json!({ "old": old, "new": new, "count": count }));
        lines.push(json!({
            "schema": SCHEMA, "kind": "counts", "same": self.unchanged, "differ": self.changed_calls(),
            "changed": changed.collect::<Vec<_>>(),
            "redacted": past.incomplete_calls, "hooks": past.hook_decisions, "in_doubt": self.undecidable,
        }));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn render_text(call: &RecordedDecision, decision: &Decision) -> String {
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let (old, new) = (call.effect.as_str(), decision.effect.as_str());
    let before = call.rule.as_ref().map(|of| format!("\n  then: {}", record_row::render_rule(of)));
    let now = match &decision.rule {
        Some(of) => record_row::render_rule(of),
        None => line(&decision.reason),
    };
    format!(
        "\n{old} -> {new}  {}  {}  ({}, last in record {}){}\n  now:  {now}",
        line(&call.call.tool),
        line(&call.call.title),
        user_messages::format_times(call.count),
        call.last_seq,
        before.unwrap_or_default(),
    )
}

fn render_json(call: &RecordedDecision, decision: &Decision) -> Value {
    json!({
        "schema": SCHEMA, "kind": "history", "tool": call.call.tool, "call": call.call.title,
        "cwd": call.call.cwd, "mode": call.call.mode, "times": call.count, "last": call.last_seq,
        "old": call.effect, "new": decision.effect, "old_rule": call.rule, "rule": decision.rule,
        "reason": decision.reason,
    })
}
