//! Commit of staged changes: one question to the gate about all files that would change.

use std::{io, time::Instant};

use openoxide_engine::registry_directory;
use openoxide_protocol::AbsPath;
use openoxide_sandbox::{StagedChanges, StagingArea, remove_excess_stages};
use openoxide_store::UserEnvironment;

use super::{
    change_review::{ChangeReview, CommitPermission, CommitRefusal},
    confined_run::RunContext,
    quarantine_restore,
    run_endings::report_failure,
};
use crate::{
    program_exit::ProgramExit,
    staged_changes::{
        NO_CHANGE_MESSAGE, StagedOutcome, print_kept, print_result, read_staged_changes,
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
                return self.commit(&changes, &wanted, &permitted);
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
        let id = self.stage.id();
        let verb = ["openoxide", "stage", "commit", &id].map(str::to_owned);
        let paths = self.selected_paths.iter().map(ToString::to_string);
        let words: Vec<_> = verb.into_iter().chain(paths).collect();
        let review = ChangeReview {
            contents: &self.stage,
            changes,
            context: self.context,
            repository_data: changes
                .repository_data(&self.stage)
                .map(|one| one.path.clone())
                .collect(),
            title: None,
            command_words: &words,
            nothing: NO_CHANGE_MESSAGE,
        };
        review.ask()
    }

    fn commit(
        &self,
        changes: &StagedChanges,
        wanted: &StagedChanges,
        permitted: &CommitPermission,
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
        permitted.record(self.context, &committed, whole, began);
        if whole && wanted.changes.len() == changes.changes.len() {
            return self.discard(None);
        }
        self.print_kept();
        (!whole).then_some(ProgramExit::RunFailed)
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
