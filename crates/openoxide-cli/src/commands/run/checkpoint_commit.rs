//! `run --checkpoint`: the changes of a command are made when it has ended, and the previous versions
//! are kept, so that `undo` can restore them.

use openoxide_engine::{Engine, registry_directory};
use openoxide_sandbox::{
    NewCheckpoint, StagingArea, list_checkpoints, recover_checkpoints, remove_excess_checkpoints,
};

use super::{confined_run::RunContext, quarantine_restore};
use crate::{
    program_exit::ProgramExit,
    staged_changes::{NO_CHANGE_MESSAGE, print_findings, print_kept, print_not_made},
    user_messages,
};

/// The maximum number of bytes that the previous versions of all checkpoints occupy.
pub(super) const MAX_CHECKPOINT_BYTES: u64 = 1 << 30;

/// Makes the changes of a command. Returns the exit of `run` if it differs from that of the command.
pub(super) fn commit_with_checkpoint(
    stage: &StagingArea,
    command: &str,
    context: &RunContext<'_>,
) -> Option<ProgramExit> {
    match try_commit(stage, command, context) {
        Ok(exit) => exit,
        Err(error) => {
            user_messages::print_error(&format!("{NO_CHANGE_MESSAGE}: {error}"));
            print_kept(stage);
            Some(ProgramExit::RunFailed)
        }
    }
}

fn try_commit(
    stage: &StagingArea,
    command: &str,
    context: &RunContext<'_>,
) -> std::io::Result<Option<ProgramExit>> {
    let changes = stage.find_changes_with_any_name()?;
    if changes.is_empty() {
        return Ok(None);
    }
    let (engine, id) = (context.engine, stage.id());
    let registry = registry_directory(engine.environment()).map_err(std::io::Error::other)?;
    // From here on, the changes are not lost if this process is killed.
    stage.keep(&changes, command, engine.cwd())?;
    let limit = MAX_CHECKPOINT_BYTES;
    let new =
        NewCheckpoint { id: &id, command, cwd: engine.cwd(), max_bytes: limit, undo_of: None };
    let done = stage.commit_with_checkpoint(&registry, &changes, &new)?;
    let count = done.changed_count;
    let words = if count == 1 { "file was" } else { "files were" };
    user_messages::print_line(&format!(
        "openoxide: {count} {words} changed; `openoxide undo {id}` restores the previous versions"
    ));
    print_uncovered(done.uncovered_count);
    let whole = print_not_made(&changes, &done.commit);
    print_findings(&done.commit);
    quarantine_restore::offer_restore(context, &done.commit.findings);
    for removed in remove_excess_checkpoints(&registry, limit)? {
        user_messages::print_note(&format!("the older checkpoint {removed} was deleted"));
    }
    if whole {
        stage.discard()?;
        return Ok(None);
    }
    print_kept(stage);
    Ok(Some(ProgramExit::RunFailed))
}

pub(super) fn print_uncovered(count: usize) {
    if count > 0 {
        user_messages::print_note(&format!(
            "the previous versions of {count} files are not kept, because all checkpoints \
             together are limited to 1 GiB; `openoxide undo` cannot restore these files"
        ));
    }
}

/// Prints a line about each undo whose process was killed, and removes temporary files.
pub(super) fn report_interrupted_undos(engine: &Engine) {
    let Ok(registry) = registry_directory(engine.environment()) else { return };
    let all = list_checkpoints(&registry).unwrap_or_default();
    if !all.iter().any(|one| one.is_interrupted) {
        return;
    }
    for one in recover_checkpoints(&registry).unwrap_or_default() {
        if let Some(first) = &one.undo_of {
            user_messages::print_note(&format!(
                "`openoxide undo {first}` was interrupted; each file is either old or new; the same \
                 command continues"
            ));
        }
    }
}
