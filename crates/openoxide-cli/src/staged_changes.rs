//! Presentation of the changes that a staged run would make.

mod change_class;
mod change_list;
mod change_summary;
mod content_diff;
mod directory_summary;
mod displayed_path;
mod repository_data;

use std::{collections::BTreeMap, io};

use openoxide_engine::describe_finding;
use openoxide_protocol::{AbsPath, PresentationKind, RequestPresentation};
use openoxide_sandbox::{
    ChangeContents, CommitResult, SkippedChange, StagedChange, StagedChanges, StagingArea,
};

pub(crate) use change_class::change_word;
use change_summary::ChangeSummary;
use displayed_path::display_path;
use serde_json::{Value, json};

use crate::user_messages;

/// A one-line question with the presentation of the changes.
#[derive(Clone, Debug)]
pub(crate) struct StagedPresentation {
    pub(crate) title: String,
    /// The list of files without their content, or the summary of many files.
    pub(crate) file_list: String,
    pub(crate) presentation: RequestPresentation,
}

/// The message for changes that were not made.
pub(crate) const NO_CHANGE_MESSAGE: &str = "no file was changed";

/// The message for changes that a command has made and that were not applied.
const NOT_APPLIED_MESSAGE: &str = "openoxide: these changes of the command were not made:";

/// The changes of a run, as far as there is something to decide.
pub(crate) enum StagedOutcome {
    /// The command has changed nothing.
    Nothing,
    /// None of the changes can be made. They were printed.
    AllSkipped(StagedChanges),
    /// There are changes to decide about.
    Changes(StagedChanges),
}

/// Returns the changes to ask about. Prints a message if there are none.
///
/// # Errors
///
/// If the staged changes cannot be read.
pub(crate) fn read_staged_changes(stage: &StagingArea) -> io::Result<StagedOutcome> {
    let changes = stage.find_changes()?;
    Ok(match (changes.changes.is_empty(), changes.skipped.is_empty()) {
        (false, _) => StagedOutcome::Changes(changes),
        (true, true) => {
            user_messages::print_line("openoxide: no file would change");
            StagedOutcome::Nothing
        }
        (true, false) => {
            user_messages::print_line(NOT_APPLIED_MESSAGE);
            print_skipped(&changes.skipped);
            StagedOutcome::AllSkipped(changes)
        }
    })
}

/// The maximum number of files whose differences are shown.
const MAX_COMPARED_FILES: usize = 100;

/// Returns the list of files that would change, followed by the differences of the first files, and
/// a summary of many files.
pub(crate) fn present_changes(
    contents: &dyn ChangeContents,
    changes: &StagedChanges,
    cwd: &AbsPath,
) -> StagedPresentation {
    let mut files: Vec<_> = changes_to_show(changes).collect();
    // New files come last, so that many new files do not hide a change of an existing one.
    files.sort_by_key(|change| (change.before.is_none(), change.after.is_none()));
    let texts: Vec<_> = files
        .iter()
        .take(MAX_COMPARED_FILES)
        .map(|change| content_diff::diff_change(contents, change))
        .collect();
    let list = change_list::render_list(&files, &texts, &changes.skipped, cwd);
    let summary = ChangeSummary { contents, cwd }.render(&files, &changes.skipped);
    let content = list.clone() + &content_diff::render_diffs(&files, &texts, cwd);
    let title = match files.as_slice() {
        [one] => format!("Apply the change to {}", display_path(&one.path, cwd)),
        several => format!("Apply changes to {} staged files", several.len()),
    };
    let kind = PresentationKind::Diff;
    let file_list = summary.clone().unwrap_or(list);
    let (language, metadata) = (None, BTreeMap::new());
    let presentation = RequestPresentation { kind, content, summary, language, metadata };
    StagedPresentation { title, file_list, presentation }
}

/// Returns the changes with their differences, and those that cannot be made.
pub(crate) fn changes_to_json(
    stage: &StagingArea,
    changes: &StagedChanges,
) -> (Vec<Value>, Vec<Value>) {
    let change = |change: &StagedChange| {
        let diff = content_diff::diff_change(stage, change);
        json!({
            "file_path": change.path,
            "change": change_word(change),
            "diff": diff.into_hunks(),
        })
    };
    let skipped = |left: &SkippedChange| json!({ "file_path": left.path, "reason": left.reason });
    let shown = changes_to_show(changes).map(change).collect();
    (shown, changes.skipped.iter().map(skipped).collect())
}

/// Returns the changes without the directories that are implied by their contents.
pub(crate) fn changes_to_show(changes: &StagedChanges) -> impl Iterator<Item = &StagedChange> {
    let all = &changes.changes;
    all.iter()
        .enumerate()
        .filter(|(at, change)| !is_implied_directory(change, all.get(at + 1)))
        .map(|(_, change)| change)
}

/// Returns whether the next change implies this directory. The contents of a directory follow it
/// directly, or follow entries whose names begin with its name.
fn is_implied_directory(change: &StagedChange, next: Option<&StagedChange>) -> bool {
    let directory = |thing: &Option<openoxide_sandbox::EntryState>| {
        thing.as_ref().is_none_or(openoxide_sandbox::EntryState::is_directory)
    };
    let came_or_went = change.before.is_none() || change.after.is_none();
    let inside = next.is_some_and(|next| next.path.strip_prefix(&change.path).is_some());
    came_or_went && directory(&change.before) && directory(&change.after) && inside
}

/// Prints the result of a commit: that files were changed, the changes that were not made, and the
/// post-run findings. Returns whether all changes of the command were made.
pub(crate) fn print_result(changes: &StagedChanges, committed: &CommitResult) -> bool {
    user_messages::print_line("openoxide: the files were changed");
    let whole = print_not_made(changes, committed);
    print_findings(committed);
    whole
}

/// Prints the changes that were not made. Returns whether all were made.
pub(crate) fn print_not_made(changes: &StagedChanges, committed: &CommitResult) -> bool {
    let skipped = [changes.skipped.as_slice(), &committed.skipped].concat();
    if !skipped.is_empty() {
        user_messages::print_line(NOT_APPLIED_MESSAGE);
    }
    print_skipped(&skipped);
    skipped.is_empty()
}

/// Prints the post-run findings of a commit.
pub(crate) fn print_findings(committed: &CommitResult) {
    for one in &committed.findings {
        user_messages::print_note(&describe_finding(one));
    }
}

/// Prints that staged changes wait for another decision, and the commands for it.
pub(crate) fn print_kept(stage: &StagingArea) {
    let id = stage.id();
    user_messages::print_line(&format!(
        "openoxide: changes that were not made are kept for 7 days: `openoxide stage show {id}`, \
         `openoxide stage commit {id}`, `openoxide stage drop {id}`"
    ));
}

/// Prints the changes that were skipped.
pub(crate) fn print_skipped(left_out: &[SkippedChange]) {
    for line in change_list::render_skipped(left_out, change_list::MAX_SKIPPED) {
        user_messages::print_note(&line);
    }
}
