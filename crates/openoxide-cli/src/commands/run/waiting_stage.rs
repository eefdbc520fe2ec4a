//! Staged changes that wait for a decision after their run.

use std::path::PathBuf;

use openoxide_engine::{Engine, new_session_id, registry_directory};
use openoxide_protocol::AbsPath;
use openoxide_sandbox::{StagingArea, WaitingStage, list_waiting_stages};

use super::{confined_run::RunContext, engine_opening::open_engine, staged_commit::StageReview};
use crate::{
    args::{GlobalArgs, PolicyArgs, RunArgs, RunSandboxMode},
    error::{CliError, stage_error::StageError},
    program_exit::ProgramExit,
    user_messages,
};

/// Decides about staged changes that were kept, as at the end of their run, and makes them.
///
/// # Errors
/// Returns an error if no change is at or below `paths`, or if the policy cannot be read.
pub(crate) fn commit_waiting_stage(
    stage: StagingArea,
    found: &WaitingStage,
    paths: &[AbsPath],
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let args = run_args(&found.cwd);
    let engine = open_engine(&args, global)?;
    let changes = stage.find_changes().map_err(StageError::from)?;
    if !paths.is_empty() && changes.select(paths).is_empty() {
        return Err(StageError::NoSuchChange.into());
    }
    let context = RunContext::new(&engine, &args, global, new_session_id());
    let review = StageReview::new(stage, &found.command, &context).with_paths(paths);
    Ok(review.review_and_commit().unwrap_or(ProgramExit::Success))
}

/// Returns the arguments of a run in this directory, under the policy of its project.
pub(super) fn run_args(cwd: &AbsPath) -> RunArgs {
    let policy = PolicyArgs { cwd: Some(PathBuf::from(cwd.as_str())), ..PolicyArgs::default() };
    RunArgs {
        policy,
        wait: None,
        session: None,
        sandbox: RunSandboxMode::Auto,
        stage: true,
        checkpoint: false,
        live: false,
        publish: Vec::new(),
        env: Vec::new(),
        script: None,
        command: Vec::new(),
    }
}

/// Prints a line about each commit whose process was killed, and removes its temporary files.
pub(super) fn report_interrupted_commits(engine: &Engine) {
    let Ok(registry) = registry_directory(engine.environment()) else { return };
    let all = list_waiting_stages(&registry).unwrap_or_default();
    for stage in all.into_iter().filter(|stage| stage.is_interrupted) {
        let id = &stage.id;
        let text = match StagingArea::open(&registry, id).and_then(|stage| stage.find_changes()) {
            Ok(_) => format!(
                "a commit of staged changes was interrupted; each file is either old or new: \
                 `openoxide stage show {id}` shows the changes that are left, `openoxide stage \
                 commit {id}` makes them"
            ),
            Err(error) => format!("the staged changes {id} cannot be read: {error}"),
        };
        user_messages::print_note(&text);
    }
}
