//! One question to the gate about all files that would change.

use std::{
    collections::BTreeSet, io, os::unix::process::ExitStatusExt as _, process::ExitStatus,
    time::Instant,
};

use openoxide_engine::{
    CheckOptions, ConfinementRecord, InterruptedError, RecordOrigin, describe_finding, digest_call,
};
use openoxide_permission::OperationRefusal;
use openoxide_protocol::{AbsPath, Action, Operation};
use openoxide_sandbox::{ChangeContents, CommitResult, StagedChange, StagedChanges};
use serde_json::{Value, json};

use super::{
    approval::{ApprovalResult, ApprovalVerdict},
    confined_run::{RunContext, requested_confinement},
    run_endings::{
        report_failure, report_interruption, report_refusal, report_unanswerable, report_unanswered,
    },
};
use crate::{
    commands::call_operation,
    program_exit::ProgramExit,
    staged_changes::{change_word, changes_to_show, present_changes},
    user_messages,
};

/// The question about changes of files.
pub(super) struct ChangeReview<'a> {
    pub(super) contents: &'a dyn ChangeContents,
    pub(super) changes: &'a StagedChanges,
    pub(super) context: &'a RunContext<'a>,
    /// The changes of data of a repository about which only rules decide.
    pub(super) repository_data: BTreeSet<AbsPath>,
    /// The title of the question [default: derived from the changes].
    pub(super) title: Option<String>,
    /// The command that asks again.
    pub(super) command_words: &'a [String],
    /// The message for changes that are not made.
    pub(super) nothing: &'a str,
}

/// Permission to make the changes.
pub(super) struct CommitPermission {
    /// The number of the audit record.
    record_seq: Option<u64>,
    /// True if a person has seen the changes.
    pub(super) was_shown: bool,
}

/// The reason for which no change is made.
pub(super) struct CommitRefusal {
    pub(super) exit: ProgramExit,
    /// True if the changes wait for another decision.
    pub(super) is_undecided: bool,
}

impl CommitRefusal {
    const fn undecided(exit: ProgramExit) -> Self {
        Self { exit, is_undecided: true }
    }
}

impl CommitPermission {
    /// Records the end of the commit.
    pub(super) fn record(
        &self,
        context: &RunContext<'_>,
        committed: &CommitResult,
        whole: bool,
        began: Instant,
    ) {
        let status = ExitStatus::from_raw(if whole { 0 } else { 1 << 8 });
        let found = committed.findings.iter().map(describe_finding).collect();
        let record = ConfinementRecord { findings: found, ..ConfinementRecord::default() };
        context.engine.record_outcome(self.record_seq, &Ok(status), began, record, context);
    }
}

impl ChangeReview<'_> {
    /// Asks for the changes, if the rules do not decide about them.
    pub(super) fn ask(&self) -> Result<CommitPermission, CommitRefusal> {
        let around = self.context;
        let operation = Operation { session: around.session, ..self.edit_operation() };
        let shown = present_changes(self.contents, self.changes, around.engine.cwd());
        let options = CheckOptions {
            title: Some(self.title.clone().unwrap_or(shown.title)),
            presentation: Some(shown.presentation),
            repository_data: self.repository_data.clone(),
            ..CheckOptions::new(RecordOrigin::RUN, requested_confinement(around.args))
        };
        let approval = around.check_operation(&operation, options, None);
        let ApprovalResult { verdict, review } = approval.map_err(|InterruptedError| {
            CommitRefusal::undecided(report_interruption(self.nothing))
        })?;
        let unanswered = |review| report_unanswered(review, around.args, self.nothing);
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
                exit: report_refusal(&refusal, self.nothing),
                is_undecided: matches!(refusal, OperationRefusal::Denied(_)),
            }),
            ApprovalVerdict::Unanswerable(request) => {
                user_messages::print_line(shown.file_list.trim_end());
                let exit = report_unanswerable(&request, self.command_words, self.nothing);
                Err(CommitRefusal::undecided(exit))
            }
        }
    }

    /// Returns an edit of all paths, so that the rules for each of them apply.
    fn edit_operation(&self) -> Operation {
        let paths = changes_to_show(self.changes).map(|change| change.path.to_string()).collect();
        let changed: Vec<_> = changes_to_show(self.changes).map(change_to_json).collect();
        // The approval is bound to the exact bytes of the changes; no one else writes there.
        let states = Value::from(format!("{:?}", self.changes.changes));
        let input = json!({ "changes": changed, "state": digest_call("", &states) });
        call_operation::new_person_operation(
            "Edit".to_owned(),
            Action::Edit { paths },
            input,
            self.context.engine.cwd(),
        )
    }
}

fn change_to_json(change: &StagedChange) -> Value {
    json!({ "file_path": change.path, "change": change_word(change) })
}
