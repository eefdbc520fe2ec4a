//! `grants`: saved approvals.

use std::path::Path;

use openoxide_engine::{absolute_directory, shell_job_task};
use openoxide_permission::{
    CombiningAlgorithm, Layer, LayerKind, PathAnchors, SubjectKind, lint::lint_layer, parse_rule,
};
use openoxide_protocol::{AbsPath, Effect, GrantTerms, SCHEMA};
use openoxide_store::{
    GrantEntry, GrantFile, GrantFileError, GrantLimits, UserEnvironment, find_project_root,
    policy_edit::quote_toml,
};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{
    args::{GrantAddArgs, GrantLimitArgs, GrantsCommand},
    error::{CliError, grant_args_error::GrantArgsError, rules_error::RulesError},
    program_exit::ProgramExit,
    user_messages,
};

/// The maximum size of the name of a task.
const MAX_TASK_BYTES: usize = 500;

/// Runs a subcommand of `grants`.
pub(crate) fn run_grants_command(verb: &GrantsCommand) -> Result<ProgramExit, CliError> {
    let environment =
        UserEnvironment { task: shell_job_task(None), ..UserEnvironment::from_process() };
    let cwd = absolute_directory(None)?;
    let grants =
        GrantFile::for_project(&environment, &find_project_root(&cwd, environment.home.as_ref()));
    let entries = grants.read_entries()?;
    match verb {
        GrantsCommand::List { json } => Ok(list_grants(&entries, *json)),
        GrantsCommand::Export { as_rules: _ } => Ok(export_rules(&entries)),
        GrantsCommand::Add(args) => add_grant(&grants, args, &cwd, environment.home.as_ref()),
        GrantsCommand::Revoke { which } => {
            let means =
                |at: usize, entry: &GrantEntry| entry.rule == *which || which.parse() == Ok(at + 1);
            Ok(remove_grants(
                &grants,
                means,
                "no such grant; `openoxide grants list` shows all grants",
            )?)
        }
        GrantsCommand::Prune => Ok(remove_grants(
            &grants,
            |_, entry| !entry.is_active_in_any_task(),
            "every entry is valid",
        )?),
    }
}

/// Adds a grant. A rule that is not valid, or not about commands, would grant nothing.
fn add_grant(
    grants: &GrantFile,
    args: &GrantAddArgs,
    cwd: &AbsPath,
    home: Option<&AbsPath>,
) -> Result<ProgramExit, CliError> {
    let rule = parse_rule(&args.rule, Effect::Allow, PathAnchors { home, base: cwd });
    let rule = rule.map_err(|error| RulesError::InvalidRule { text: args.rule.clone(), error })?;
    if rule.patterns.iter().any(|pattern| pattern.kind != SubjectKind::Exec) {
        return Err(GrantArgsError::NotCommandRule(args.rule.clone()).into());
    }
    let (kind, combining) = (LayerKind::Local, CombiningAlgorithm::Strictest);
    let layer =
        Layer { kind, file: None, combining_algorithm: combining, rules: vec![rule], mode: None };
    for found in lint_layer(&layer) {
        user_messages::print_note(&format!("{}: {}; {}", found.code, found.message, found.help));
    }
    let task = resolve_task(&args.limits)?;
    let bound =
        GrantLimits::from_terms(&new_grant_terms(Vec::new(), &args.limits)?, task.as_deref());
    grants.add_limited(std::slice::from_ref(&args.rule), &bound)?;
    let (rule, reach) =
        (escape_text(&args.rule, LineMode::SingleLine), format_grant_limits(&bound));
    user_messages::print_line(&format!("openoxide: {rule} is granted{reach}"));
    Ok(ProgramExit::Success)
}

/// Returns the task of a grant: the named one, or the job that this process is part of.
fn resolve_task(bounds: &GrantLimitArgs) -> Result<Option<String>, GrantArgsError> {
    match bounds.task.as_deref() {
        None => Ok(None),
        Some("") => current_shell_job().map(Some),
        Some(named) if named.len() > MAX_TASK_BYTES || named.chars().any(char::is_control) => {
            Err(GrantArgsError::InvalidTask)
        }
        Some(named) => Ok(Some(named.to_owned())),
    }
}

fn current_shell_job() -> Result<String, GrantArgsError> {
    shell_job_task(None).ok_or(GrantArgsError::NoTask)
}

/// Returns the terms of a grant of these rules.
pub(crate) fn new_grant_terms(
    rules: Vec<String>,
    bounds: &GrantLimitArgs,
) -> Result<GrantTerms, CliError> {
    Ok(GrantTerms {
        rules,
        // No unit is shorter than a second.
        expires_in_seconds: bounds.time.map(|time| time / 1_000),
        max_uses: bounds.times,
        directory: bounds.below.as_deref().map(grant_directory).transpose()?,
        until_task_end: bounds.task.is_some(),
    })
}

/// Returns the directory of a grant. It must exist: a grant for a directory that is created later
/// would be a mistake or a trap.
fn grant_directory(named: &Path) -> Result<AbsPath, CliError> {
    let directory = absolute_directory(Some(named))?;
    if !Path::new(directory.as_str()).is_dir() {
        return Err(GrantArgsError::NoSuchDirectory(directory).into());
    }
    Ok(directory)
}

/// Returns the limits of a grant in words.
pub(crate) fn format_grant_limits(bound: &GrantLimits) -> String {
    let until = bound.expires_at.map(|until| format!(", until {until}"));
    let times = bound.max_uses.map(|times| match times {
        1 => ", once".to_owned(),
        times => format!(", {times} times"),
    });
    let below = bound.directory.as_ref();
    let below =
        below.map(|path| format!(", below {}", escape_text(path.as_str(), LineMode::SingleLine)));
    let task = bound.task.as_ref();
    let task =
        task.map(|task| format!(", in the task {}", escape_text(task, LineMode::SingleLine)));
    [until, times, below, task].into_iter().flatten().collect()
}

fn list_grants(entries: &[GrantEntry], json: bool) -> ProgramExit {
    if entries.is_empty() && !json {
        user_messages::print_line("openoxide: no saved grants in this project");
    }
    let line = |(at, entry): (usize, &GrantEntry)| {
        if json { render_json(entry) } else { render_text(at, entry) }
    };
    let text: String = entries.iter().enumerate().map(|each| line(each) + "\n").collect();
    user_messages::print_data(&text, ProgramExit::Success)
}

/// Prints the valid grants without limits as a policy file. A policy file cannot express the limits.
fn export_rules(entries: &[GrantEntry]) -> ProgramExit {
    let valid = || entries.iter().filter(|entry| entry.ignored_reason.is_none());
    let (limited, unlimited): (Vec<_>, Vec<_>) =
        valid().partition(|entry| entry.limits.has_limits());
    if !limited.is_empty() {
        let rules: Vec<_> =
            limited.iter().map(|entry| escape_text(&entry.rule, LineMode::SingleLine)).collect();
        user_messages::print_note(&format!("left out, because limited: {}", rules.join(", ")));
    }
    if unlimited.is_empty() {
        user_messages::print_line("openoxide: no grants without limits in this project");
        return ProgramExit::Success;
    }
    let rule = |entry: &&GrantEntry| format!("    {},\n", quote_toml(&entry.rule));
    let rules: String = unlimited.iter().map(rule).collect();
    let text = format!("[permissions]\nallow = [\n{rules}]\n");
    user_messages::print_document(text.as_bytes(), ProgramExit::Success)
}

fn render_json(entry: &GrantEntry) -> String {
    let GrantLimits { expires_at, granted_at, directory, max_uses, task } = &entry.limits;
    json!({
        "schema": SCHEMA,
        "rule": entry.rule,
        "line": entry.line,
        "valid": entry.ignored_reason.is_none(),
        "expires_at": expires_at.map(|time| time.to_string()),
        "granted_at": granted_at.map(|time| time.to_string()),
        "directory": directory,
        "max_uses": max_uses,
        "task": task,
    })
    .to_string()
}

fn render_text(at: usize, entry: &GrantEntry) -> String {
    let why = entry.ignored_reason.map(|why| format!("  (ignored: {why})")).unwrap_or_default();
    let rule = escape_text(&entry.rule, LineMode::SingleLine);
    format!("{:>3}  {rule}{}{why}", at + 1, format_grant_limits(&entry.limits))
}

fn remove_grants(
    grants: &GrantFile,
    which: impl Fn(usize, &GrantEntry) -> bool,
    none: &str,
) -> Result<ProgramExit, GrantFileError> {
    match grants.remove(which)? {
        0 => {
            user_messages::print_line(&format!("openoxide: {none}"));
            Ok(ProgramExit::Failure)
        }
        count => {
            user_messages::print_line(&format!(
                "openoxide: removed {count} from {}",
                escape_text(&grants.path().to_string_lossy(), LineMode::SingleLine)
            ));
            Ok(ProgramExit::Success)
        }
    }
}
