//! `audit replay`: what the policy in force, or another one, would say of what was recorded.

use std::{collections::HashMap, path::PathBuf};

use openoxide_engine::{Engine, RecordedCall, RecordedHistory, project_roots, read_history};
use openoxide_protocol::{AbsPath, Decision, Effect, SCHEMA};
use openoxide_store::{Environment, project_root};
use openoxide_tui::{Lines, visible};
use serde_json::{Value, json};

use super::{row, times};
use crate::{
    args::{Global, PolicyArgs, ReplayArgs},
    error::CliError,
    exit::Exit,
    policy_args, report,
};

const EFFECTS: [Effect; 3] = [Effect::Allow, Effect::Ask, Effect::Deny];

/// Decides what was recorded again, and shows what comes out otherwise.
pub(super) fn replay(args: &ReplayArgs, global: Global) -> Result<Exit, CliError> {
    let here = policy_args::open(&args.policy)?;
    if let Err(exit) = policy_args::sound(&here, global) {
        return Ok(exit);
    }
    let environment = Environment::read();
    let past = read_history(&environment, args.since)?;
    let mut engines = Engines { args: &args.policy, home: environment.home, known: HashMap::new() };
    let mut found = Found::default();
    for call in &past.calls {
        match engines.decide(call)? {
            Some(decision) => found.add(call, decision),
            None => found.in_doubt += call.times,
        }
    }
    let text = if args.json { found.in_json(&past) } else { found.in_words(&past, args.limit) };
    let exit = if found.changed.is_empty() { Exit::Success } else { Exit::Failure };
    Ok(report::data(text.as_bytes(), exit))
}

/// The policy of each project that something was recorded in.
struct Engines<'a> {
    args: &'a PolicyArgs,
    home: Option<AbsPath>,
    known: HashMap<AbsPath, Engine>,
}

impl Engines<'_> {
    /// Decides a call in its project; nothing if the policy there cannot be relied on.
    fn decide(&mut self, call: &RecordedCall) -> Result<Option<Decision>, CliError> {
        let project = project_root(&call.what.cwd, self.home.as_ref());
        if !self.known.contains_key(&project) {
            let cwd = self.args.cwd.clone().or_else(|| Some(PathBuf::from(project.as_str())));
            let engine = policy_args::open(&PolicyArgs { cwd, ..self.args.clone() })?;
            self.known.insert(project.clone(), engine);
        }
        let engine = self.known.get(&project).filter(|engine| engine.is_sound());
        Ok(engine.map(|engine| {
            // Where one directory's policy is named for all, each call is still in its own project.
            let roots = match self.args.cwd {
                Some(_) => project_roots(&project),
                None => engine.roots().to_vec(),
            };
            let again = call.what.to_call(self.home.as_ref()).in_project(roots);
            engine.evaluate(&again).decision
        }))
    }
}

/// What came out.
#[derive(Default)]
struct Found<'a> {
    same: u64,
    changed: Vec<(&'a RecordedCall, Decision)>,
    in_doubt: u64,
}

impl<'a> Found<'a> {
    fn add(&mut self, call: &'a RecordedCall, decision: Decision) {
        match decision.effect == call.was {
            true => self.same += call.times,
            false => self.changed.push((call, decision)),
        }
    }

    /// Returns how many came out so, for each pair of then and now.
    fn counts(&self) -> Vec<(Effect, Effect, u64)> {
        let pairs = EFFECTS.into_iter().flat_map(|old| EFFECTS.map(|new| (old, new)));
        let count = |old, new| {
            let so =
                |(call, now): &&(&RecordedCall, Decision)| call.was == old && now.effect == new;
            self.changed.iter().filter(so).map(|(call, _)| call.times).sum()
        };
        let counts = pairs.map(|(old, new)| (old, new, count(old, new)));
        counts.filter(|(.., count)| *count > 0).collect()
    }

    fn differ(&self) -> u64 {
        self.changed.iter().map(|(call, _)| call.times).sum()
    }

    fn in_words(&self, past: &RecordedHistory, limit: usize) -> String {
        let (same, differ) = (self.same, self.differ());
        let all = same + differ;
        let mut lines = vec![format!(
            "{all} recorded calls were decided again: {same} as before, {differ} otherwise"
        )];
        let count = |(old, new, count): (Effect, Effect, u64)| {
            format!("{count:>7}  {} -> {}", old.as_str(), new.as_str())
        };
        lines.extend(self.counts().into_iter().map(count));
        lines
            .extend(self.left_out(past).map(|(count, why)| format!("{count:>7}  were not: {why}")));
        let shown = self.changed.iter().take(limit);
        lines.extend(shown.map(|(call, decision)| in_words(call, decision)));
        let more = self.changed.len().saturating_sub(limit);
        lines.extend((more > 0).then(|| format!("\n{more} more omitted; see --limit")));
        lines.join("\n") + "\n"
    }

    fn left_out(&self, past: &RecordedHistory) -> impl Iterator<Item = (u64, &'static str)> {
        [
            (past.lost, "redacted or truncated input"),
            (past.by_hooks, "decided by a hook, and hooks are not run again"),
            (self.in_doubt, "the policy of their project cannot be relied on"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
    }

    fn in_json(&self, past: &RecordedHistory) -> String {
        let mut lines: Vec<Value> =
            self.changed.iter().map(|(call, decision)| in_json(call, decision)).collect();
        let changed = self
            .counts()
            .into_iter()
            .map(|(old, new, count)| json!({ "old": old, "new": new, "count": count }));
        lines.push(json!({
            "schema": SCHEMA, "kind": "counts", "same": self.same, "differ": self.differ(),
            "changed": changed.collect::<Vec<_>>(),
            "redacted": past.lost, "hooks": past.by_hooks, "in_doubt": self.in_doubt,
        }));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

fn in_words(call: &RecordedCall, decision: &Decision) -> String {
    let line = |text: &str| visible(text, Lines::One);
    let (old, new) = (call.was.as_str(), decision.effect.as_str());
    let before = call.rule.as_ref().map(|of| format!("\n  then: {}", row::rule(of)));
    let now = match &decision.rule {
        Some(of) => row::rule(of),
        None => line(&decision.reason),
    };
    format!(
        "\n{old} -> {new}  {}  {}  ({}, last in record {}){}\n  now:  {now}",
        line(&call.what.tool),
        line(&call.what.title),
        times(call.times),
        call.last,
        before.unwrap_or_default(),
    )
}

fn in_json(call: &RecordedCall, decision: &Decision) -> Value {
    json!({
        "schema": SCHEMA, "kind": "history", "tool": call.what.tool, "call": call.what.title,
        "cwd": call.what.cwd, "mode": call.what.mode, "times": call.times, "last": call.last,
        "old": call.was, "new": decision.effect, "old_rule": call.rule, "rule": decision.rule,
        "reason": decision.reason,
    })
}
