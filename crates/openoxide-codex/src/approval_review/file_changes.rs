//! File changes in the form that a person is shown.

use crate::file_change::{FileUpdateChange, PatchChangeKind};

/// The marker after the diff of a moved file. It is removed because the header shows the new name.
const MOVE_MARKER: &str = "\n\nMoved to: ";

/// Returns every file that is changed; both paths if a file is moved.
pub(super) fn collect_changed_paths(changes: &[FileUpdateChange]) -> Vec<String> {
    let moved = |change: &FileUpdateChange| move_target(change).map(str::to_owned);
    changes.iter().flat_map(|change| [Some(change.path.clone()), moved(change)]).flatten().collect()
}

/// Returns a one-line summary of the changes.
pub(super) fn render_title(paths: &[String]) -> String {
    match paths {
        [path] => format!("Change {path}"),
        paths => format!("Change {} files", paths.len()),
    }
}

/// Returns the changes as one unified diff.
pub(super) fn render_diff(changes: &[FileUpdateChange]) -> String {
    changes.iter().map(render_change).collect()
}

fn render_change(change: &FileUpdateChange) -> String {
    let path = &change.path;
    match &change.kind {
        PatchChangeKind::Add => {
            format!("--- /dev/null\n+++ {path}\n{}", count_by_kind('+', &change.diff))
        }
        PatchChangeKind::Delete => {
            format!("--- {path}\n+++ /dev/null\n{}", count_by_kind('-', &change.diff))
        }
        PatchChangeKind::Update { .. } => {
            let to = move_target(change).unwrap_or(path);
            let hunks =
                change.diff.strip_suffix(&format!("{MOVE_MARKER}{to}")).unwrap_or(&change.diff);
            format!("--- {path}\n+++ {to}\n{}\n", hunks.trim_end_matches('\n'))
        }
    }
}

fn move_target(change: &FileUpdateChange) -> Option<&str> {
    change.kind.move_path().map(String::as_str)
}

fn count_by_kind(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}
