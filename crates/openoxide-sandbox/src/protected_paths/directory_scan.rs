//! A scan of the writable directories for files that could make a program of the host run
//! something.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::protected_paths::{
    directory_walk::{DirectoryListing, DirectoryWalk},
    repository::{self, is_git_directory, is_object_directory},
    steering_files::{SteeringMatch, find_steering_files, is_steering_name},
};

/// The file with the remaining steps of a rebase, in its git directory.
const REBASE_TODO_FILE: &str = "rebase-merge/git-rebase-todo";

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
    /// The files with the remaining steps of rebases, and their states.
    pub(crate) rebase_todos: BTreeMap<PathBuf, FileStamp>,
    /// Directories that were not searched.
    pub(crate) unsearched_directories: Vec<PathBuf>,
}

impl ScanResult {
    /// Scans everything below these directories, except for the paths that `left_out` accepts.
    /// `open` makes inaccessible directories accessible.
    pub(crate) fn scan(
        roots: &[PathBuf],
        left_out: &dyn Fn(&Path) -> bool,
        open: &dyn Fn(&Path) -> bool,
    ) -> Self {
        let mut sight = Self::default();
        let skipped = |path: &Path| left_out(path) || is_object_directory(path);
        let walk = DirectoryWalk {
            is_relevant: &is_relevant_name,
            is_skipped: &skipped,
            make_accessible: open,
            before_listing: &|_| {},
            max_names: usize::MAX,
        };
        let unsearched_directories =
            walk.run(roots.iter().cloned(), |listing| sight.add_listing(&listing));
        Self { unsearched_directories, ..sight }
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
            before_listing: &|_| {},
            max_names: usize::MAX,
        };
        drop(walk.run(directories, |listing| sight.add_repositories(&listing)));
        sight
    }

    fn add_repositories(&mut self, listing: &DirectoryListing<'_>) {
        if is_git_directory(listing) {
            self.repositories.push(listing.path.to_owned());
            let todo = listing.path.join(REBASE_TODO_FILE);
            self.rebase_todos.extend(read_stamp(&todo).map(|stamp| (todo, stamp)));
        }
        if listing.contains(".git") {
            self.dot_git_entries.push(listing.path.join(".git"));
        }
    }
}

fn is_relevant_name(name: &OsStr) -> bool {
    repository::GIT_NAMES.iter().any(|asked| name == *asked) || is_steering_name(name)
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
