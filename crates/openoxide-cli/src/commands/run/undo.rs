//! `undo`: undoes what a run with `--checkpoint` has changed.

use std::collections::BTreeSet;

use openoxide_engine::{absolute_directory, new_session_id, registry_directory};
use openoxide_protocol::{AbsPath, SCHEMA};
use openoxide_sandbox::{
    Checkpoint, CheckpointSummary, NewCheckpoint, StagedChanges, list_checkpoints, new_stage_id,
    remove_excess_checkpoints,
};
use openoxide_store::{UserEnvironment, audit::UtcTimestamp, find_project_root};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use super::{
    change_review::ChangeReview,
    checkpoint_commit::{checkpoint_size, print_uncovered},
    confined_run::RunContext,
    engine_opening::open_engine,
    waiting_stage::run_args,
};
use crate::{
    args::{GlobalArgs, UndoArgs},
    error::{CliError, stage_error::StageError},
    program_exit::ProgramExit,
    staged_changes::{print_result, print_skipped},
    user_messages,
};

/// Runs `undo`.
pub(crate) fn run_undo(args: &UndoArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let environment = UserEnvironment::from_process();
    let registry = registry_directory(&environment).map_err(StageError::from)?;
    let all = list_checkpoints(&registry).map_err(StageError::from)?;
    if args.list {
        return Ok(list(&all, args.json));
    }
    let cwd = absolute_directory(None)?;
    let project = find_project_root(&cwd, environment.home.as_ref());
    let found = find_checkpoint(all, args.id.as_deref(), &project)?;
    let checkpoint = Checkpoint::open(&registry, &found.id).map_err(StageError::from)?;
    let changes = checkpoint.find_changes().map_err(StageError::from)?;
    if changes.is_empty() {
        user_messages::print_line(&format!(
            "openoxide: nothing to undo: the files are as they were before `{}`",
            escape_text(&found.command, LineMode::SingleLine)
        ));
        return Ok(ProgramExit::Success);
    }
    if !changes.skipped.is_empty() && (!args.skip_changed || changes.changes.is_empty()) {
        user_messages::print_line("openoxide: nothing was undone:");
        print_skipped(&changes.skipped);
        if !changes.changes.is_empty() {
            user_messages::print_line(&format!(
                "openoxide: `openoxide undo --skip-changed {}` undoes the other changes",
                found.id
            ));
        }
        return Ok(ProgramExit::Failure);
    }
    undo_checkpoint(checkpoint, &found, &changes, &registry, global)
}

/// Returns the checkpoint with this name, or the last one of the project that was not undone.
fn find_checkpoint(
    all: Vec<CheckpointSummary>,
    id: Option<&str>,
    project: &AbsPath,
) -> Result<CheckpointSummary, StageError> {
    let Some(id) = id else {
        let is_last = |one: &CheckpointSummary| {
            !one.is_undone && one.undo_of.is_none() && one.cwd.strip_prefix(project).is_some()
        };
        return all.into_iter().rev().find(is_last).ok_or(StageError::NoCheckpoint);
    };
    let mut found = all.into_iter().filter(|one| !id.is_empty() && one.id.starts_with(id));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(StageError::UnknownCheckpoint(id.to_owned())),
    }
}

fn undo_checkpoint(
    mut checkpoint: Checkpoint,
    found: &CheckpointSummary,
    changes: &StagedChanges,
    registry: &AbsPath,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let args = run_args(&found.cwd);
    let engine = open_engine(&args, global)?;
    let context = RunContext::new(&engine, &args, global, new_session_id());
    let title = format!("Undo the changes of `{}`", found.command);
    let words = ["openoxide", "undo", &found.id].map(str::to_owned);
    let review = ChangeReview {
        contents: &checkpoint,
        changes,
        context: &context,
        repository_data: BTreeSet::new(),
        title: Some(title),
        command_words: &words,
        nothing: "nothing was undone",
    };
    let permitted = match review.ask() {
        Ok(permitted) => permitted,
        Err(refusal) => return Ok(refusal.exit),
    };
    let (id, command) = (new_stage_id(), format!("undo of {}", found.command));
    let limit = checkpoint_size(&engine);
    let new = NewCheckpoint {
        id: &id,
        command: &command,
        cwd: &found.cwd,
        max_bytes: limit.0,
        undo_of: None,
    };
    let began = std::time::Instant::now();
    let done = checkpoint.undo(changes, &new).map_err(StageError::from)?;
    let whole = print_result(changes, &done.commit);
    permitted.record(&context, &done.commit, whole, began);
    user_messages::print_line(&format!(
        "openoxide: the changes of {} were undone; `openoxide undo {id}` makes them again",
        found.id
    ));
    print_uncovered(done.uncovered_count, limit);
    remove_excess_checkpoints(registry, limit.0).map_err(StageError::from)?;
    Ok(if whole { ProgramExit::Success } else { ProgramExit::Failure })
}

fn list(all: &[CheckpointSummary], json: bool) -> ProgramExit {
    if all.is_empty() && !json {
        user_messages::print_line("openoxide: no checkpoints");
    }
    let render = if json { to_json } else { to_line };
    let text: String = all.iter().rev().map(render).collect();
    user_messages::print_data(&text, ProgramExit::Success)
}

fn created_at(one: &CheckpointSummary) -> String {
    UtcTimestamp(one.created_at).to_string()
}

fn to_line(one: &CheckpointSummary) -> String {
    let words = if one.change_count == 1 { "change" } else { "changes" };
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let uncovered = match one.uncovered_count {
        0 => String::new(),
        count => format!(", {count} not kept"),
    };
    format!(
        "{}  {}  {} {words} of `{}` in {}{uncovered}{}\n",
        one.id,
        created_at(one),
        one.change_count,
        line(&one.command),
        line(one.cwd.as_str()),
        if one.is_undone { ", undone" } else { "" },
    )
}

fn to_json(one: &CheckpointSummary) -> String {
    let value = json!({
        "schema": SCHEMA,
        "id": one.id,
        "command": one.command,
        "cwd": one.cwd,
        "created_at": created_at(one),
        "changes": one.change_count,
        "bytes": one.size,
        "not_kept": one.uncovered_count,
        "undo_of": one.undo_of,
        "undone": one.is_undone,
        "interrupted": one.is_interrupted,
    });
    format!("{value}\n")
}
