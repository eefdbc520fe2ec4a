//! `run --checkpoint`: the changes of a command are made when it has ended, and the previous versions
//! are kept, so that `undo` can restore them.

use openoxide_engine::{Engine, registry_directory};
use openoxide_sandbox::{
    NewCheckpoint, StagingArea, list_checkpoints, recover_checkpoints, remove_excess_checkpoints,
};

use openoxide_store::ByteSize;

use super::{confined_run::RunContext, quarantine_restore};
use crate::{
    program_exit::ProgramExit,
    staged_changes::{NO_CHANGE_MESSAGE, print_findings, print_kept, print_not_made},
    user_messages,
};

/// The maximum size of the previous versions of all checkpoints, unless a policy sets another one.
const DEFAULT_CHECKPOINT_SIZE: ByteSize = ByteSize(1 << 30);

/// Returns the maximum size of the previous versions of all checkpoints.
pub(super) fn checkpoint_size(engine: &Engine) -> ByteSize {
    engine.sandbox_settings().checkpoint_size.unwrap_or(DEFAULT_CHECKPOINT_SIZE)
}

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
    let limit = checkpoint_size(engine);
    let new =
        NewCheckpoint { id: &id, command, cwd: engine.cwd(), max_bytes: limit.0, undo_of: None };
    let done = stage.commit_with_checkpoint(&registry, &changes, &new)?;
    let count = done.changed_count;
    if count > 0 {
        let words = if count == 1 { "file was" } else { "files were" };
        user_messages::print_line(&format!(
            "openoxide: {count} {words} changed; `openoxide undo {id}` restores the previous \
             versions"
        ));
    }
    print_uncovered(done.uncovered_count, limit);
    let whole = print_not_made(&changes, &done.commit);
    print_findings(&done.commit);
    quarantine_restore::offer_restore(context, &done.commit.findings);
    for removed in remove_excess_checkpoints(&registry, limit.0)? {
        user_messages::print_note(&format!(
            "the older checkpoint {removed} was deleted, because all checkpoints together are \
             limited to {limit} (`[sandbox] checkpoint_size`) and to 100"
        ));
    }
    if whole {
        stage.discard()?;
        return Ok(None);
    }
    print_kept(stage);
    Ok(Some(ProgramExit::RunFailed))
}

/// Prints a note if the limit was exceeded.
pub(super) fn print_uncovered(count: usize, limit: ByteSize) {
    let (versions, files) = match count {
        0 => return,
        1 => ("the previous version of 1 file is".to_owned(), "this file"),
        _ => (format!("the previous versions of {count} files are"), "these files"),
    };
    user_messages::print_note(&format!(
        "{versions} not kept, because all checkpoints together are limited to {limit} (`[sandbox] \
         checkpoint_size`); `openoxide undo` cannot restore {files}"
    ));
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
