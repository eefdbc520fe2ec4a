//! Commit of staged changes: one question to the gate about all files that would change.

use std::{io, os::unix::process::ExitStatusExt as _, process::ExitStatus, time::Instant};

use openoxide_engine::{
    CheckOptions, ConfinementRecord, InterruptedError, RecordOrigin, describe_finding, digest_call,
    registry_directory,
};
use openoxide_permission::OperationRefusal;
use openoxide_protocol::{AbsPath, Action, Operation};
use openoxide_sandbox::{
    CommitResult, StagedChange, StagedChanges, StagingArea, remove_excess_stages,
};
use openoxide_store::UserEnvironment;
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
        NO_CHANGE_MESSAGE, StagedOutcome, change_word, changes_to_show, present_changes,
        print_kept, print_result, read_staged_changes,
    },
    user_messages,
};

/// The maximum number of questions if files are changed from outside in the meantime.
const MAX_ATTEMPTS: usize = 5;

/// The decision about the staged changes of a command.
pub(super) struct StageReview<'a> {
    stage: StagingArea,
    /// The command that has made the changes.
    command: &'a str,
    context: &'a RunContext<'a>,
    /// The paths to decide about, or none for all changes.
    selected_paths: &'a [AbsPath],
}

/// Permission to commit.
struct CommitPermission {
    /// The number of the audit record.
    record_seq: Option<u64>,
    /// True if a person has seen the changes.
    was_shown: bool,
}

/// The reason for which no change is made.
struct CommitRefusal {
    exit: ProgramExit,
    /// True if the changes wait for another decision.
    is_undecided: bool,
}

impl CommitRefusal {
    const fn undecided(exit: ProgramExit) -> Self {
        Self { exit, is_undecided: true }
    }
}

impl<'a> StageReview<'a> {
    pub(super) const fn new(
        stage: StagingArea,
        command: &'a str,
        context: &'a RunContext<'a>,
    ) -> Self {
        Self { stage, command, context, selected_paths: &[] }
    }

    /// Decides only about the changes at and below these paths, if there are any.
    pub(super) fn with_paths(self, selected_paths: &'a [AbsPath]) -> Self {
        Self { selected_paths, ..self }
    }

    /// Decides about the changes by the rules or a person, and commits them. Changes without a
    /// decision, and those that conflict with changes of other programs, are kept. Returns the exit
    /// of `run` if it differs from that of the command.
    pub(super) fn review_and_commit(self) -> Option<ProgramExit> {
        for _ in 0..MAX_ATTEMPTS {
            let changes = match read_staged_changes(&self.stage) {
                Ok(StagedOutcome::Changes(changes)) => changes,
                Ok(StagedOutcome::Nothing) => return self.discard(None),
                Ok(StagedOutcome::AllSkipped(changes)) => {
                    self.keep(&changes);
                    return Some(ProgramExit::RunFailed);
                }
                Err(error) => return Some(report_failure(&error)),
            };
            // From here on, the changes are not lost if this process is killed.
            if let Err(error) = self.stage.keep(&changes, self.command, self.context.engine.cwd()) {
                user_messages::print_note(&format!("the changes cannot be kept: {error}"));
            }
            let wanted = self.select_changes(&changes);
            let permitted = match self.ask_commit(&wanted) {
                Ok(permitted) => permitted,
                Err(refusal) if refusal.is_undecided => {
                    self.keep(&changes);
                    return Some(refusal.exit);
                }
                Err(refusal) => return self.discard(Some(refusal.exit)),
            };
            // Exactly the changes that were shown are committed. Without a question, no time has
            // passed, and the commit itself checks each file.
            if !permitted.was_shown || self.stage.find_changes().is_ok_and(|now| now == changes) {
                return self.commit(&changes, &wanted, permitted.record_seq);
            }
            user_messages::print_line("openoxide: files changed in the meantime; asking again");
        }
        self.print_kept();
        Some(report_failure(&io::Error::other("files keep changing")))
    }

    fn select_changes(&self, changes: &StagedChanges) -> StagedChanges {
        match self.selected_paths {
            [] => changes.clone(),
            paths => changes.select(paths),
        }
    }

    /// Asks for the commit, if the rules do not decide about it.
    fn ask_commit(&self, changes: &StagedChanges) -> Result<CommitPermission, CommitRefusal> {
        let around = self.context;
        let operation = Operation { session: around.session, ..edit_operation(changes, around) };
        let shown = present_changes(&self.stage, changes, around.engine.cwd());
        let options = CheckOptions {
            title: Some(shown.title),
            presentation: Some(shown.presentation),
            ..CheckOptions::new(RecordOrigin::RUN, requested_confinement(around.args))
        };
        let approval = around.check_operation(&operation, options, None);
        let ApprovalResult { verdict, review } = approval.map_err(|InterruptedError| {
            CommitRefusal::undecided(report_interruption(NO_CHANGE_MESSAGE))
        })?;
        let unanswered = |review| report_unanswered(review, around.args, NO_CHANGE_MESSAGE);
        if let Some(exit) = review.as_ref().and_then(unanswered) {
            return Err(CommitRefusal::undecided(exit));
        }
        match verdict {
            ApprovalVerdict::Allowed(permit) => {
                let (record_seq, was_shown) = (permit.record_seq(), review.is_some());
                match permit.redeem_for(&operation) {
                    true => Ok(CommitPermission { record_seq, was_shown }),
                    false => {
                        let error = io::Error::other("the permit is for another operation");
                        Err(CommitRefusal::undecided(report_failure(&error)))
                    }
                }
            }
            ApprovalVerdict::Denied(refusal) => Err(CommitRefusal {
                exit: report_refusal(&refusal, NO_CHANGE_MESSAGE),
                is_undecided: matches!(refusal, OperationRefusal::Denied(_)),
            }),
            ApprovalVerdict::Unanswerable(request) => {
                user_messages::print_line(shown.file_list.trim_end());
                let id = self.stage.id();
                let verb = ["openoxide", "stage", "commit", &id].map(str::to_owned);
                let paths = self.selected_paths.iter().map(ToString::to_string);
                let words: Vec<_> = verb.into_iter().chain(paths).collect();
                let exit = report_unanswerable(&request, &words, NO_CHANGE_MESSAGE);
                Err(CommitRefusal::undecided(exit))
            }
        }
    }

    fn commit(
        &self,
        changes: &StagedChanges,
        wanted: &StagedChanges,
        number: Option<u64>,
    ) -> Option<ProgramExit> {
        let began = Instant::now();
        let committed = match self.stage.commit(wanted) {
            Ok(committed) => committed,
            Err(error) => {
                self.print_kept();
                return Some(report_failure(&error));
            }
        };
        let whole = print_result(wanted, &committed);
        quarantine_restore::offer_restore(self.context, &committed.findings);
        self.record_commit(&committed, number, whole, began);
        if whole && wanted.changes.len() == changes.changes.len() {
            return self.discard(None);
        }
        self.print_kept();
        (!whole).then_some(ProgramExit::RunFailed)
    }

    fn record_commit(
        &self,
        committed: &CommitResult,
        number: Option<u64>,
        whole: bool,
        began: Instant,
    ) {
        let status = ExitStatus::from_raw(if whole { 0 } else { 1 << 8 });
        let found = committed.findings.iter().map(describe_finding).collect();
        let record = ConfinementRecord { findings: found, ..ConfinementRecord::default() };
        self.context.engine.record_outcome(number, &Ok(status), began, record, self.context);
    }
}

impl StageReview<'_> {
    /// Keeps the changes until a later decision, and removes the oldest ones beyond the limits.
    fn keep(&self, changes: &StagedChanges) {
        let cwd = self.context.engine.cwd();
        if let Err(error) = self.stage.keep(changes, self.command, cwd) {
            return user_messages::print_note(&format!("the changes cannot be kept: {error}"));
        }
        self.print_kept();
        let registry = registry_directory(&UserEnvironment::from_process());
        let removed = registry.ok().and_then(|registry| remove_excess_stages(&registry).ok());
        for id in removed.unwrap_or_default() {
            user_messages::print_note(&format!("the older staged changes {id} were deleted"));
        }
    }

    fn print_kept(&self) {
        print_kept(&self.stage);
    }

    /// Removes the changes when the review ends. Returns the exit.
    fn discard(&self, exit: Option<ProgramExit>) -> Option<ProgramExit> {
        if let Err(error) = self.stage.discard() {
            user_messages::print_note(&format!("the staged changes cannot be removed: {error}"));
        }
        exit
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
    json!({ "file_path": change.path, "change": change_word(change) })
}

fn report_failure(error: &io::Error) -> ProgramExit {
    user_messages::print_error(&format!("{NO_CHANGE_MESSAGE}: {error}"));
    ProgramExit::RunFailed
}
