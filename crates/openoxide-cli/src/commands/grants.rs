//! `grants`: what a person said yes to for good.

use std::path::Path;

use openoxide_engine::task_of_shell_job;
use openoxide_permission::{Anchors, Combining, Layer, LayerKind, Space, lint::lint, parse};
use openoxide_protocol::{AbsPath, Effect, GrantTerms, SCHEMA};
use openoxide_store::{Bound, Entry, Environment, GrantFile, project_root};
use openoxide_tui::{Lines, visible};
use serde_json::json;

use crate::{
    args::{BoundArgs, GrantArgs, GrantsVerb},
    exit::Exit,
    policy_args, report,
};

/// No name of a task is longer.
const LONGEST_TASK: usize = 500;

/// Lists, revokes or clears up the grants of this project.
pub(crate) fn grants(verb: &GrantsVerb) -> Result<Exit, String> {
    let environment = Environment { task: task_of_shell_job(None), ..Environment::read() };
    let cwd = policy_args::directory(None)?;
    let grants = GrantFile::of(&environment, &project_root(&cwd, environment.home.as_ref()));
    let entries = grants.entries().map_err(|error| error.to_string())?;
    match verb {
        GrantsVerb::List { json } => Ok(list(&entries, *json)),
        GrantsVerb::Add(args) => add(&grants, args, &cwd, environment.home.as_ref()),
        GrantsVerb::Revoke { which } => {
            let means =
                |at: usize, entry: &Entry| entry.rule == *which || which.parse() == Ok(at + 1);
            removed(&grants, means, "no grant is called so; `openoxide grants list` shows them")
        }
        GrantsVerb::Prune => removed(&grants, |_, entry| !entry.is_alive(), "every entry is valid"),
    }
}

/// A rule that is written wrongly, and one that is not about commands, would grant nothing.
fn add(
    grants: &GrantFile,
    args: &GrantArgs,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) -> Result<Exit, String> {
    let rule = parse(&args.rule, Effect::Allow, Anchors { home, base: cwd });
    let rule = rule.map_err(|error| {
        let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
        format!("`{}`: {}{help}", args.rule, error.message)
    })?;
    if rule.patterns.iter().any(|pattern| pattern.space != Space::Exec) {
        return Err(format!(
            "`{}` is not a command rule; only command rules can be granted for a project",
            args.rule
        ));
    }
    let (kind, combining) = (LayerKind::Local, Combining::Strictest);
    let layer = Layer { kind, file: None, combining, rules: vec![rule], mode: None };
    for found in lint(&layer) {
        report::note(&format!("{}: {}; {}", found.code, found.message, found.help));
    }
    let task = task(&args.bounds)?;
    let bound = Bound::of(&terms(Vec::new(), &args.bounds)?, task.as_deref());
    let added = grants.add_bounded(std::slice::from_ref(&args.rule), &bound);
    added.map_err(|error| error.to_string())?;
    let (rule, reach) = (visible(&args.rule, Lines::One), reach(&bound));
    report::say(&format!("openoxide: {rule} is granted{reach}"));
    Ok(Exit::Success)
}

/// Returns the task that a grant is for: the one that is named, or the job that this very call is part of.
fn task(bounds: &BoundArgs) -> Result<Option<String>, String> {
    match bounds.task.as_deref() {
        None => Ok(None),
        Some("") => job().map(Some),
        Some(named) if named.len() > LONGEST_TASK || named.chars().any(char::is_control) => {
            Err("`--task`: not a task name as shown by `audit log --json`".to_owned())
        }
        Some(named) => Ok(Some(named.to_owned())),
    }
}

fn job() -> Result<String, String> {
    task_of_shell_job(None).ok_or_else(|| {
        "this call does not belong to a task of a script or an agent; \
         name one with `--task=NAME`, as shown by `audit log --json`"
            .to_owned()
    })
}

/// Returns rules with the bounds that were named.
pub(crate) fn terms(rules: Vec<String>, bounds: &BoundArgs) -> Result<GrantTerms, String> {
    let below = bounds.below.as_deref().map(below).transpose()?;
    // No unit is shorter than a second.
    let seconds = bounds.time.map(|time| time / 1_000);
    Ok(GrantTerms { rules, seconds, times: bounds.times, below, task: bounds.task.is_some() })
}

/// Returns the directory that a grant is for. It has to be there: a grant for what is made later is a slip, or a trap.
fn below(named: &Path) -> Result<AbsPath, String> {
    let directory = policy_args::directory(Some(named))?;
    if !Path::new(directory.as_str()).is_dir() {
        let shown = visible(directory.as_str(), Lines::One);
        return Err(format!("`--below`: no such directory: {shown}"));
    }
    Ok(directory)
}

/// Returns how far a grant reaches, in words.
pub(crate) fn reach(bound: &Bound) -> String {
    let until = bound.until.map(|until| format!(", until {until}"));
    let times = bound.times.map(|times| match times {
        1 => ", once".to_owned(),
        times => format!(", {times} times"),
    });
    let below = bound.below.as_ref();
    let below = below.map(|path| format!(", below {}", visible(path.as_str(), Lines::One)));
    let task = bound.task.as_ref();
    let task = task.map(|task| format!(", in the task {}", visible(task, Lines::One)));
    [until, times, below, task].into_iter().flatten().collect()
}

fn list(entries: &[Entry], json: bool) -> Exit {
    if entries.is_empty() && !json {
        report::say("openoxide: no saved grants in this project");
    }
    let line =
        |(at, entry): (usize, &Entry)| if json { in_json(entry) } else { in_words(at, entry) };
    let text: String = entries.iter().enumerate().map(|each| line(each) + "\n").collect();
    report::data(text.as_bytes(), Exit::Success)
}

fn in_json(entry: &Entry) -> String {
    let Bound { until, since, below, times, task } = &entry.bound;
    json!({
        "schema": SCHEMA,
        "rule": entry.rule,
        "line": entry.line,
        "counts": entry.ignored.is_none(),
        "until": until.map(|until| until.to_string()),
        "since": since.map(|since| since.to_string()),
        "below": below,
        "times": times,
        "task": task,
    })
    .to_string()
}

fn in_words(at: usize, entry: &Entry) -> String {
    let why = entry.ignored.map(|why| format!("  (ignored: {why})")).unwrap_or_default();
    let rule = visible(&entry.rule, Lines::One);
    format!("{:>3}  {rule}{}{why}", at + 1, reach(&entry.bound))
}

fn removed(
    grants: &GrantFile,
    which: impl Fn(usize, &Entry) -> bool,
    none: &str,
) -> Result<Exit, String> {
    match grants.remove(which).map_err(|error| error.to_string())? {
        0 => {
            report::say(&format!("openoxide: {none}"));
            Ok(Exit::Failure)
        }
        count => {
            report::say(&format!(
                "openoxide: {count} removed from {}",
                visible(&grants.path().to_string_lossy(), Lines::One)
            ));
            Ok(Exit::Success)
        }
    }
}
