//! A scan of the writable directories for files that could make a program of the host run
//! something.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::Metadata,
    hash::{Hash as _, Hasher},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::protected_paths::{
    directory_listing::newest_stamp,
    directory_snapshot::{DirectorySnapshot, SnapshotUpdate},
    directory_walk::{DirectoryListing, DirectoryWalk},
    incremental_walk::IncrementalWalk,
    repository::{self, is_git_directory},
    steering_files::{SteeringMatch, find_steering_files, hash_steering_names, is_steering_name},
};

/// The files of a git directory with state that can make `git` run or write something: the index,
/// which names the files that a checkout writes, the remaining steps of a rebase, the merge strategy
/// of a rebase or cherry-pick in progress, which is the name of a program, and the file that
/// connects a linked worktree, where `git worktree repair` writes.
const STATE_FILES: [&str; 5] =
    ["index", "rebase-merge/git-rebase-todo", "rebase-merge/strategy", "sequencer/opts", "gitdir"];

/// The state of a file. No program can set the time of the last change (`st_ctime`) to a time in
/// the past.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileStamp(u64, u64, i64, i64);

/// The result of a scan.
#[derive(Debug, Default)]
pub(crate) struct ScanResult {
    /// Git directories, recognized by their contents.
    pub(crate) repositories: Vec<PathBuf>,
    /// Entries with the name `.git`, of any type.
    pub(crate) dot_git_entries: Vec<PathBuf>,
    /// Steering files.
    pub(crate) steering_files: BTreeMap<PathBuf, SteeringMatch>,
    /// The files of repositories with state that can make `git` run or write something, and their
    /// stamps.
    pub(crate) git_state_files: BTreeMap<PathBuf, FileStamp>,
    /// Directories that were not searched.
    pub(crate) unsearched_directories: Vec<PathBuf>,
    /// The directories that were visited.
    pub(crate) snapshot_update: SnapshotUpdate,
}

impl ScanResult {
    /// Scans everything below these directories, except for the paths in `left_out`. Directories in
    /// `known` that have not changed are not listed again. `open` makes inaccessible directories
    /// accessible.
    pub(crate) fn scan<'a>(
        roots: &[PathBuf],
        left_out: impl Iterator<Item = &'a PathBuf>,
        known: &DirectorySnapshot,
        open: &dyn Fn(&Path) -> bool,
    ) -> Self {
        let mut sight = Self::default();
        let walk = IncrementalWalk {
            is_relevant: &|entry| is_relevant_name(entry.name),
            is_leaf: &|_| false,
            skips_objects: true,
            skipped_paths: &left_out.map(PathBuf::as_path).collect(),
            make_accessible: open,
            before_reading: None,
            is_cancelled: &|| false,
            newest_stamp: newest_stamp(),
        };
        // A root can be a single file that was granted by name. It has no entries.
        for root in roots.iter().filter(|root| !root.is_file()) {
            let result =
                walk.run(root, known.tree(root), &mut |listing| sight.add_listing(&listing));
            sight.unsearched_directories.extend(result.unsearched_directories);
            sight.snapshot_update.insert(root.clone(), result.visited);
        }
        sight
    }

    fn add_listing(&mut self, listing: &DirectoryListing<'_>) {
        self.add_repositories(listing);
        self.steering_files.extend(find_steering_files(listing));
    }

    /// Scans these directories for repositories, but not the directories below them.
    pub(crate) fn scan_repositories(directories: Vec<PathBuf>) -> Self {
        let mut sight = Self::default();
        let open = |_: &Path| false;
        let walk = DirectoryWalk {
            is_relevant: &is_git_name,
            is_skipped: &|_| true,
            make_accessible: &open,
        };
        drop(walk.run(directories, |listing| sight.add_repositories(&listing)));
        sight
    }

    fn add_repositories(&mut self, listing: &DirectoryListing<'_>) {
        if is_git_directory(listing) {
            self.repositories.push(listing.path.to_owned());
            let files = STATE_FILES.iter().map(|name| listing.path.join(name));
            let present = files.filter_map(|file| read_stamp(&file).map(|stamp| (file, stamp)));
            self.git_state_files.extend(present);
        }
        if listing.contains(".git") {
            self.dot_git_entries.push(listing.path.join(".git"));
        }
    }
}

pub(super) fn is_relevant_name(name: &OsStr) -> bool {
    repository::GIT_NAMES.iter().any(|asked| name == *asked) || is_steering_name(name)
}

/// Adds the relevant names to a hash. A snapshot that was made for other names cannot be used.
pub(super) fn hash_relevant_names(hasher: &mut impl Hasher) {
    repository::GIT_NAMES.hash(hasher);
    hash_steering_names(hasher);
}

/// Returns whether `git` reads a file or directory of this name to recognize a repository or to
/// find out what it runs.
pub(crate) fn is_git_name(name: &OsStr) -> bool {
    const STEERING: &[&str] = &["config", "config.worktree", "hooks"];
    repository::GIT_NAMES.iter().chain(STEERING).any(|asked| name == *asked)
}

/// Returns the state of this file, or `None` if it does not exist.
pub(crate) fn read_stamp(path: &Path) -> Option<FileStamp> {
    path.symlink_metadata().ok().map(|found| stamp_from_metadata(&found))
}

fn stamp_from_metadata(found: &Metadata) -> FileStamp {
    FileStamp(found.ino(), found.size(), found.ctime(), found.ctime_nsec())
}
