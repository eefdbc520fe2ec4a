//! The directories that a scan has listed. A later scan lists only those that have changed since.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString},
    ops::Range,
    path::{Path, PathBuf},
};

use rustix::fs::Stat;
use serde::{Deserialize, Serialize};

/// The identity of a directory, and the times of its last change. A directory with the same stamp
/// contains the same names. A program can set the first time, but not the second (`st_ctime`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DirectoryStamp {
    device: u64,
    inode: u64,
    modified: (i64, u64),
    pub(super) changed: (i64, u64),
}

impl From<&Stat> for DirectoryStamp {
    fn from(found: &Stat) -> Self {
        Self {
            device: found.st_dev,
            inode: found.st_ino,
            modified: (found.st_mtime, found.st_mtime_nsec),
            changed: (found.st_ctime, found.st_ctime_nsec),
        }
    }
}

/// A directory that a scan has visited.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KnownDirectory {
    /// The path relative to the root, or `.` for the root itself.
    pub(super) path: CString,
    /// The state in which it was listed. `None` if the next scan has to list it, because it was not
    /// listed, or because a change could be overlooked.
    pub(super) stamp: Option<DirectoryStamp>,
    /// The relevant names in it.
    pub(super) names: Vec<CString>,
}

impl KnownDirectory {
    /// Creates an entry for a directory that was not listed.
    pub(super) const fn new_unlisted(path: CString) -> Self {
        Self { path, stamp: None, names: Vec::new() }
    }
}

/// The directories at and below one root. A directory comes before its contents, and all
/// directories below it follow directly.
pub(super) type DirectoryTree = Vec<KnownDirectory>;

/// The directories of several roots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DirectorySnapshot {
    pub(super) trees: BTreeMap<PathBuf, DirectoryTree>,
    /// The number of directories that were listed since the snapshot was loaded and need not be
    /// listed again.
    pub(super) new_stamps: usize,
}

/// A directory as visited by a scan.
#[derive(Debug)]
pub(crate) enum VisitedDirectory {
    /// The directory with this number in the earlier snapshot, which is still valid or was left out.
    Kept(usize),
    Listed(KnownDirectory),
}

/// The directories that a scan has visited, by root.
pub(crate) type SnapshotUpdate = BTreeMap<PathBuf, Vec<VisitedDirectory>>;

impl DirectorySnapshot {
    /// Returns the known directories of a root.
    pub(crate) fn tree(&self, root: &Path) -> &[KnownDirectory] {
        self.trees.get(root).map_or(&[], Vec::as_slice)
    }

    /// Returns the number of known directories.
    pub(crate) fn directory_count(&self) -> usize {
        self.trees.values().map(Vec::len).sum()
    }

    /// Returns the snapshot after a scan that started from this one.
    pub(crate) fn with_update(mut self, update: SnapshotUpdate) -> Self {
        let mut new_stamps = self.new_stamps;
        let trees = update.into_iter().map(|(root, visited)| {
            let mut known = self.trees.remove(&root).unwrap_or_default();
            let current = visited.into_iter().filter_map(|one| match one {
                VisitedDirectory::Kept(number) => Some(take_directory(known.get_mut(number)?)),
                VisitedDirectory::Listed(directory) => {
                    new_stamps += usize::from(directory.stamp.is_some());
                    Some(directory)
                }
            });
            let current = current.collect();
            (root, current)
        });
        let trees = trees.collect();
        Self { trees, new_stamps }
    }
}

fn take_directory(directory: &mut KnownDirectory) -> KnownDirectory {
    std::mem::replace(directory, KnownDirectory::new_unlisted(CString::default()))
}

/// Returns the number after the last directory below this one.
pub(super) fn subtree_end(tree: &[KnownDirectory], at: usize) -> usize {
    let Some(directory) = tree.get(at) else { return tree.len() };
    let after = tree.get(at + 1..).unwrap_or_default();
    let below = after.iter().take_while(|other| is_below(&other.path, &directory.path));
    at + 1 + below.count()
}

/// Returns the directories directly in this one, each with all directories below it.
pub(super) fn children(
    tree: &[KnownDirectory],
    at: usize,
) -> impl Iterator<Item = (&CStr, Range<usize>)> {
    let (end, mut next) = (subtree_end(tree, at), at + 1);
    std::iter::from_fn(move || {
        let child = tree.get(next).filter(|_| next < end)?;
        let range = next..subtree_end(tree, next);
        next = range.end;
        Some((child.path.as_c_str(), range))
    })
}

fn is_below(path: &CStr, directory: &CStr) -> bool {
    directory == c"."
        || path
            .to_bytes()
            .strip_prefix(directory.to_bytes())
            .is_some_and(|rest| rest.first() == Some(&b'/'))
}
