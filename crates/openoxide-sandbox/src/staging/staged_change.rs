//! The changes that a staged run would make.

use std::path::PathBuf;

use openoxide_protocol::AbsPath;

use crate::staging::entry_state::EntryState;

/// The changes that a staged run would make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedChanges {
    /// The changes, sorted by path.
    pub changes: Vec<StagedChange>,
    /// The changes that are not made, regardless of the decision about the others.
    pub skipped: Vec<SkippedChange>,
}

/// One path that would be created, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedChange {
    /// The path.
    pub path: AbsPath,
    /// The current entry, if there is one.
    pub before: Option<EntryState>,
    /// The new entry. `None` if the entry is removed.
    pub after: Option<EntryState>,
    /// True if this is a file of which only the mode changes.
    pub same_content: bool,
    /// The index of the writable directory that contains it, and the path in that directory.
    pub(super) root_index: usize,
    pub(super) relative_path: PathBuf,
}

/// A path that is not changed, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedChange {
    /// The path. It may contain any character. Invalid UTF-8 is replaced.
    pub path: String,
    /// The reason.
    pub reason: String,
}

impl StagedChanges {
    /// Returns whether there is neither a change nor a skipped one.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.skipped.is_empty()
    }

    /// Returns the changes at and below these paths, with the new directories that contain them.
    #[must_use]
    pub fn select(&self, paths: &[AbsPath]) -> Self {
        let is_in = |path: &AbsPath| paths.iter().any(|top| path.strip_prefix(top).is_some());
        let holds = |change: &StagedChange| {
            let is_new = change.before.is_none()
                && change.after.as_ref().is_some_and(EntryState::is_directory);
            is_new && paths.iter().any(|path| path.strip_prefix(&change.path).is_some())
        };
        let selected = |change: &&StagedChange| is_in(&change.path) || holds(change);
        let skipped =
            |left: &&SkippedChange| AbsPath::new(&left.path).is_ok_and(|path| is_in(&path));
        Self {
            changes: self.changes.iter().filter(selected).cloned().collect(),
            skipped: self.skipped.iter().filter(skipped).cloned().collect(),
        }
    }
}

impl StagedChange {
    /// Returns whether a directory replaces an entry of another type, or is replaced by one.
    pub(super) fn is_type_change(&self) -> bool {
        let directory = |thing: &Option<EntryState>| thing.as_ref().map(EntryState::is_directory);
        matches!((directory(&self.before), directory(&self.after)), (Some(a), Some(b)) if a != b)
    }
}
