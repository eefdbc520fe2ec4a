//! What a staged run would change, as a person is shown it.

mod change_list;
mod content_diff;

use std::{collections::BTreeMap, io};

use openoxide_protocol::{AbsPath, PresentationKind, RequestPresentation};
use openoxide_sandbox::{CommitResult, SkippedChange, StagedChange, StagedChanges, StagingArea};
use openoxide_tui::{LineMode, escape_text};

use crate::{commands::sandbox::post_run_findings, user_messages};

/// What is asked, in one line, and what is shown with it.
#[derive(Clone, Debug)]
pub(crate) struct StagedPresentation {
    pub(crate) title: String,
    /// The files, without what is in them.
    pub(crate) file_list: String,
    pub(crate) presentation: RequestPresentation,
}

/// So many files are named, and shown. A person who is shown more reads none of them; the prompt has all their paths.
const MAX_SHOWN_FILES: usize = 100;

/// What a no means.
pub(crate) const NO_CHANGE_MESSAGE: &str = "no file was changed";

/// Returns what is to be asked about; where nothing would change, it says so.
///
/// # Errors
/// What was staged cannot be looked at.
pub(crate) fn read_staged_changes(stage: &StagingArea) -> io::Result<Option<StagedChanges>> {
    let changes = stage.find_changes()?;
    if changes.changes.is_empty() {
        user_messages::print_line("openoxide: no file would change");
        print_skipped(&changes.skipped);
        return Ok(None);
    }
    Ok(Some(changes))
}

/// Says first which files would change, and then, of as many as can be read, how.
pub(crate) fn present_changes(
    stage: &StagingArea,
    changes: &StagedChanges,
    cwd: &AbsPath,
) -> StagedPresentation {
    let mut files: Vec<_> = changes_to_show(changes).collect();
    // What is new comes last: many new files hide no change of an old one.
    files.sort_by_key(|change| (change.before.is_none(), change.after.is_none()));
    let texts: Vec<_> = files
        .iter()
        .take(MAX_SHOWN_FILES)
        .map(|change| content_diff::diff_change(stage, change))
        .collect();
    let list = change_list::render_list(&files, &texts, &changes.skipped, cwd);
    let content = list.clone() + &content_diff::render_diffs(&files, &texts, cwd);
    let title = match files.as_slice() {
        [one] => format!("Let {} change", change_list::display_path(&one.path, cwd)),
        several => format!("Let {} staged files change", several.len()),
    };
    let kind = PresentationKind::Diff;
    let presentation =
        RequestPresentation { kind, content, language: None, metadata: BTreeMap::new() };
    StagedPresentation { title, file_list: list, presentation }
}

/// Leaves out directories that are named by what lies in them.
pub(crate) fn changes_to_show(changes: &StagedChanges) -> impl Iterator<Item = &StagedChange> {
    let all = &changes.changes;
    all.iter()
        .enumerate()
        .filter(|(at, change)| !is_implied_directory(change, all.get(at + 1)))
        .map(|(_, change)| change)
}

/// What lies in a directory comes right behind it, or behind what begins with the same name.
fn is_implied_directory(change: &StagedChange, next: Option<&StagedChange>) -> bool {
    let directory = |thing: &Option<openoxide_sandbox::EntryState>| {
        thing.as_ref().is_none_or(openoxide_sandbox::EntryState::is_directory)
    };
    let came_or_went = change.before.is_none() || change.after.is_none();
    let inside = next.is_some_and(|next| next.path.strip_prefix(&change.path).is_some());
    came_or_went && directory(&change.before) && directory(&change.after) && inside
}

/// Says what was changed, what not, and what a person should look at.
pub(crate) fn print_result(committed: &CommitResult) {
    user_messages::print_line(match committed.skipped.as_slice() {
        [] => "openoxide: the files were changed",
        _ => "openoxide: the files were changed, but for these:",
    });
    print_skipped(&committed.skipped);
    for one in &committed.findings {
        user_messages::print_note(&post_run_findings::describe_finding(one));
    }
}

/// Names what was left as it is.
fn print_skipped(left_out: &[SkippedChange]) {
    for line in change_list::render_skipped(left_out) {
        user_messages::print_note(&line);
    }
}

/// A path that a person can read, whatever it holds.
fn to_visible_line(text: &str) -> String {
    escape_text(text, LineMode::SingleLine)
}
