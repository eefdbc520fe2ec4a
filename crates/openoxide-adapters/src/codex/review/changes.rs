//! Changes of files, as a person reads them.

use crate::codex::wire::{Change, ChangeKind};

/// What stands behind the difference of a file that has another name. The header says it.
const MOVED: &str = "\n\nMoved to: ";

/// Returns every file that is touched, both names of one that has another.
pub(super) fn paths(changes: &[Change]) -> Vec<String> {
    let moved = |change: &Change| moved(change).map(str::to_owned);
    changes.iter().flat_map(|change| [Some(change.path.clone()), moved(change)]).flatten().collect()
}

/// Returns one line that says what is wanted.
pub(super) fn title(paths: &[String]) -> String {
    match paths {
        [path] => format!("Change {path}"),
        paths => format!("Change {} files", paths.len()),
    }
}

/// Returns the changes as one unified diff.
pub(super) fn diff(changes: &[Change]) -> String {
    changes.iter().map(one).collect()
}

fn one(change: &Change) -> String {
    let path = &change.path;
    match &change.kind {
        ChangeKind::Add => format!("--- /dev/null\n+++ {path}\n{}", each('+', &change.diff)),
        ChangeKind::Delete => format!("--- {path}\n+++ /dev/null\n{}", each('-', &change.diff)),
        ChangeKind::Update { .. } => {
            let to = moved(change).unwrap_or(path);
            let hunks = change.diff.strip_suffix(&format!("{MOVED}{to}")).unwrap_or(&change.diff);
            format!("--- {path}\n+++ {to}\n{}\n", hunks.trim_end_matches('\n'))
        }
    }
}

fn moved(change: &Change) -> Option<&str> {
    match &change.kind {
        ChangeKind::Update { move_path } => move_path.as_deref(),
        ChangeKind::Add | ChangeKind::Delete => None,
    }
}

fn each(sign: char, text: &str) -> String {
    text.lines().map(|line| format!("{sign}{line}\n")).collect()
}
