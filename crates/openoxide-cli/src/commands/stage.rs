//! `stage`: staged changes that wait for a decision.

use openoxide_engine::{absolute_directory, registry_directory};
use openoxide_protocol::{AbsPath, SCHEMA};
use openoxide_sandbox::{StagingArea, WaitingStage, drop_waiting_stage, list_waiting_stages};
use openoxide_store::{UserEnvironment, audit::UtcTimestamp};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{
    args::{GlobalArgs, StageCommand},
    commands::run,
    error::{CliError, stage_error::StageError},
    program_exit::ProgramExit,
    staged_changes::{changes_to_json, present_changes},
    user_messages,
};

/// Runs a subcommand of `stage`.
pub(crate) fn run_stage_command(
    verb: &StageCommand,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let registry =
        registry_directory(&UserEnvironment::from_process()).map_err(StageError::from)?;
    match verb {
        StageCommand::List { json } => Ok(list_stages(&registry, *json)?),
        StageCommand::Show { id, json } => Ok(show_stage(&registry, id, *json)?),
        StageCommand::Commit { id, files } => {
            let found = find_stage(&registry, id)?;
            let paths = files.iter().map(|file| absolute_directory(Some(file)));
            let paths: Vec<_> = paths.collect::<Result<_, _>>()?;
            let stage = StagingArea::open(&registry, &found.id).map_err(StageError::from)?;
            run::commit_waiting_stage(stage, &found, &paths, global)
        }
        StageCommand::Drop { id } => {
            let found = find_stage(&registry, id)?;
            drop_waiting_stage(&registry, &found.id).map_err(StageError::from)?;
            user_messages::print_line(&format!("openoxide: {} was deleted", found.id));
            Ok(ProgramExit::Success)
        }
    }
}

/// Returns the only stage whose name begins with this text.
fn find_stage(registry: &AbsPath, id: &str) -> Result<WaitingStage, StageError> {
    let all = list_waiting_stages(registry)?;
    let mut found = all.into_iter().filter(|stage| !id.is_empty() && stage.id.starts_with(id));
    match (found.next(), found.next()) {
        (Some(one), None) => Ok(one),
        (Some(_), Some(_)) => Err(StageError::Ambiguous(id.to_owned())),
        (None, _) => Err(StageError::NotFound(id.to_owned())),
    }
}

fn list_stages(registry: &AbsPath, json: bool) -> Result<ProgramExit, StageError> {
    let all = list_waiting_stages(registry)?;
    if all.is_empty() && !json {
        user_messages::print_line("openoxide: no staged changes");
    }
    let text: String =
        all.iter().map(|one| if json { stage_json(one) } else { stage_line(one) }).collect();
    Ok(user_messages::print_data(&text, ProgramExit::Success))
}

fn created_at(stage: &WaitingStage) -> String {
    UtcTimestamp(stage.created_at.saturating_mul(1000)).to_string()
}

fn stage_line(stage: &WaitingStage) -> String {
    let WaitingStage { id, command, cwd, change_count, .. } = stage;
    let words = if *change_count == 1 { "change" } else { "changes" };
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    format!(
        "{id}  {}  {change_count} {words} of `{}` in {}\n",
        created_at(stage),
        line(command),
        line(cwd.as_str())
    )
}

fn stage_json(stage: &WaitingStage) -> String {
    let value = json!({
        "schema": SCHEMA,
        "id": stage.id,
        "command": stage.command,
        "cwd": stage.cwd,
        "created_at": created_at(stage),
        "changes": stage.change_count,
        "bytes": stage.size,
        "interrupted": stage.is_interrupted,
    });
    format!("{value}\n")
}

fn show_stage(registry: &AbsPath, id: &str, json: bool) -> Result<ProgramExit, StageError> {
    let found = find_stage(registry, id)?;
    let stage = StagingArea::open(registry, &found.id)?;
    let changes = stage.find_changes()?;
    let text = if json {
        let (shown, skipped) = changes_to_json(&stage, &changes);
        let value = json!({
            "schema": SCHEMA,
            "id": found.id,
            "command": found.command,
            "cwd": found.cwd,
            "created_at": created_at(&found),
            "changes": shown,
            "skipped": skipped,
        });
        format!("{value}\n")
    } else {
        let shown = present_changes(&stage, &changes, &found.cwd).presentation;
        let summary = shown.summary.map(|summary| summary + "\n").unwrap_or_default();
        // The content of the files was written in the sandbox.
        stage_line(&found) + &escape_text(&(summary + &shown.content), LineMode::MultiLine)
    };
    Ok(user_messages::print_data(&text, ProgramExit::Success))
}
