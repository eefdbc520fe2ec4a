//! The protected paths of a run: the directories that are pinned, and the paths that are covered.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    interface::PostRunFinding,
    protected_paths::{
        directory_scan::FileStamp, directory_snapshot::DirectorySnapshot,
        displayed_paths::unsearched_finding, program_sources::ProgramSource,
    },
};

/// The protected paths of a profile, as the mounts need them.
///
/// Every path is below a writable directory, and none of them leads through a symbolic link. The
/// `pins` are mounted first, then the `guards`. In both, a directory comes before its contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProtectedPaths {
    /// Directories between a writable directory and a guarded path. Each is made a mount point (a
    /// recursive bind mount over itself, still writable), which no process can rename or remove.
    pub pins: BTreeSet<PathBuf>,
    /// The guarded paths, and how each is covered.
    pub guards: BTreeMap<PathBuf, GuardKind>,
    /// Findings about directories that were not searched for repositories, because they contain too
    /// much or deny access.
    pub unsearched_findings: Vec<PostRunFinding>,
    /// Steering files that a person has allowed to be changed in this run.
    pub(crate) changeable_paths: BTreeSet<PathBuf>,
    /// The files that can name programs.
    pub(crate) program_sources: Vec<ProgramSource>,
    /// The directories as they were listed.
    pub(crate) snapshot: Arc<DirectorySnapshot>,
    /// The files of repositories with state that can make `git` run or write something.
    pub(crate) git_state_files: BTreeMap<PathBuf, FileStamp>,
    /// The time of the search, in seconds since 1970.
    pub(crate) scan_time: i64,
}

/// The way in which a path is covered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuardKind {
    /// An existing file or directory: a recursive read-only bind mount over itself.
    Present,
    /// A symbolic link: a read-only clone of the link itself over itself (`open_tree` with
    /// `AT_SYMLINK_NOFOLLOW`, `move_mount` without `MOVE_MOUNT_T_SYMLINKS`). Its target is guarded
    /// separately.
    Link,
    /// A configuration file of `git`, of which the program changes a private copy.
    PrivateConfig,
    /// A directory with hooks, of which the program changes a private copy.
    PrivateHooks,
    /// A missing path. The placeholder that the placeholder registry creates there is covered like an
    /// existing path.
    Missing(PlaceholderKind),
}

/// A placeholder for a path that must not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceholderKind {
    /// An empty directory. Programs of the host can use it.
    Directory,
    /// A file with this text. `git` stops if `commondir` is a directory.
    File(&'static str),
}

impl ProtectedPaths {
    /// Returns whether this directory could not be searched before the run.
    pub(crate) fn is_known_unsearched(&self, path: &Path) -> bool {
        let found = unsearched_finding(path);
        found.is_some_and(|found| self.unsearched_findings.contains(&found))
    }

    /// Returns the guard of a path of which a program changes a private copy: a configuration file,
    /// or the directory with hooks that contains the path.
    pub(crate) fn private_guard(&self, path: &Path) -> Option<(&Path, GuardKind)> {
        let (guarded, kind) =
            path.ancestors().find_map(|above| self.guards.get_key_value(above))?;
        let is_private = match kind {
            GuardKind::PrivateConfig => guarded == path,
            GuardKind::PrivateHooks => true,
            GuardKind::Present | GuardKind::Link | GuardKind::Missing(_) => false,
        };
        is_private.then_some((guarded.as_path(), *kind))
    }

    /// Returns whether this path, or a directory above it, is guarded.
    #[must_use]
    pub(crate) fn contains(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.guards.contains_key(above))
    }
}
