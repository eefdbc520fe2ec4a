//! Commit of staged changes: one question to the gate about all files that would change.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Instant};

use openoxide_engine::{
    CheckOptions, ConfinementRecord, InterruptedError, RecordOrigin, describe_finding, digest_call,
};
use openoxide_protocol::{Action, Operation};
use openoxide_sandbox::{StagedChange, StagedChanges, StagingArea};
use serde_json::{Value, json};

use super::{
    approval::{ApprovalResult, ApprovalVerdict},
    confined_run::{RunContext, requested_confinement},
    quarantine_restore,
    run_endings::{report_interruption, report_refusal, report_unanswerable, report_unanswered},
};
use crate::{
    commands::call_operation,
    program_exit::ProgramExit,
    staged_changes::{
        NO_CHANGE_MESSAGE, changes_to_show, present_changes, print_result, read_staged_changes,
    },
    user_messages,
};

/// The maximum number of questions if files are changed from outside in the meantime.
const MAX_ATTEMPTS: usize = 5;

/// Decides about the staged changes by the rules or a person, and commits them. Returns the exit of
/// `run` if it differs from that of the command.
pub(super) fn review_and_commit(
    stage: &StagingArea,
    around: &RunContext<'_>,
) -> Option<ProgramExit> {
    for _ in 0..MAX_ATTEMPTS {
        let changes = match read_staged_changes(stage) {
            Ok(changes) => changes?,
            Err(error) => return Some(report_failure(&error)),
        };
        let number = match ask_commit(stage, &changes, around) {
            Ok(number) => number,
            Err(exit) => return Some(exit),
        };
        // Exactly the changes that were shown are committed.
        if stage.find_changes().is_ok_and(|now| now == changes) {
            return commit_changes(stage, &changes, around, number);
        }
        user_messages::print_line("openoxide: files changed in the meantime; asking again");
    }
    Some(report_failure(&io::Error::other("files keep changing")))
}

/// Asks for the commit, and returns the number of its audit record.
fn ask_commit(
    stage: &StagingArea,
    changes: &StagedChanges,
    around: &RunContext<'_>,
) -> Result<Option<u64>, ProgramExit> {
    let operation = Operation { session: around.session, ..edit_operation(changes, around) };
    let shown = present_changes(stage, changes, around.engine.cwd());
    let options = CheckOptions {
        title: Some(shown.title),
        presentation: Some(shown.presentation),
        ..CheckOptions::new(RecordOrigin::RUN, requested_confinement(around.args))
    };
    let approval = around.check_operation(&operation, options, None);
    let ApprovalResult { verdict, review } =
        approval.map_err(|InterruptedError| report_interruption(NO_CHANGE_MESSAGE))?;
    let unanswered = |review| report_unanswered(review, around.args, NO_CHANGE_MESSAGE);
    if let Some(exit) = review.as_ref().and_then(unanswered) {
        return Err(exit);
    }
    match verdict {
        ApprovalVerdict::Allowed(permit) => {
            let number = permit.record_seq();
            match permit.redeem_for(&operation) {
                true => Ok(number),
                false => {
                    Err(report_failure(&io::Error::other("the permit is for another operation")))
                }
            }
        }
        ApprovalVerdict::Denied(refusal) => Err(report_refusal(&refusal, NO_CHANGE_MESSAGE)),
        ApprovalVerdict::Unanswerable(request) => {
            user_messages::print_line(shown.file_list.trim_end());
            Err(report_unanswerable(&request, around.args, NO_CHANGE_MESSAGE))
        }
    }
}

/// Returns an edit of all paths, so that the rules for each of them apply.
fn edit_operation(changes: &StagedChanges, around: &RunContext<'_>) -> Operation {
    let paths = changes_to_show(changes).map(|change| change.path.to_string()).collect();
    let changed: Vec<_> = changes_to_show(changes).map(change_to_json).collect();
    // The approval is bound to the exact bytes of the staged changes; no one else writes there.
    let states = Value::from(format!("{:?}", changes.changes));
    let input = json!({ "changes": changed, "state": digest_call("", &states) });
    call_operation::new_person_operation(
        "Edit".to_owned(),
        Action::Edit { paths },
        input,
        around.engine.cwd(),
    )
}

fn change_to_json(change: &StagedChange) -> Value {
    let what = match (&change.before, &change.after) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    };
    json!({ "file_path": change.path, "change": what })
}

fn commit_changes(
    stage: &StagingArea,
    changes: &StagedChanges,
    around: &RunContext<'_>,
    number: Option<u64>,
) -> Option<ProgramExit> {
    let began = Instant::now();
    let committed = match stage.commit(changes) {
        Ok(committed) => committed,
        Err(error) => return Some(report_failure(&error)),
    };
    print_result(&committed);
    quarantine_restore::offer_restore(around, &committed.findings);
    let whole = committed.skipped.is_empty();
    let status = ExitStatus::from_raw(if whole { 0 } else { 1 << 8 });
    let found = committed.findings.iter().map(describe_finding).collect();
    let record = ConfinementRecord { findings: found, ..ConfinementRecord::default() };
    around.engine.record_outcome(number, &Ok(status), began, record, around);
    (!whole).then_some(ProgramExit::RunFailed)
}

fn report_failure(error: &io::Error) -> ProgramExit {
    user_messages::print_error(&format!("{NO_CHANGE_MESSAGE}: {error}"));
    ProgramExit::RunFailed
}
