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
        displayed_paths::unsearched_finding, git_config::private_config::PrivateConfig,
        placeholder_registry::may_be_placeholder, program_sources::ProgramSource,
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

/// The mounts that are created for the protected paths, after the placeholders exist.
#[derive(Clone, Debug)]
pub(crate) struct MountPlan {
    pub(crate) pins: Vec<PathBuf>,
    /// The paths that are mounted read-only.
    pub(crate) guards: Vec<PathBuf>,
    /// Placeholders that are created only inside the sandbox, where nothing exists, before they are
    /// covered.
    pub(crate) placeholders: Vec<(PathBuf, PlaceholderKind)>,
    /// The covered directories that are placeholders, also if another run has created them.
    pub(crate) placeholder_directories: Vec<PathBuf>,
    /// Configuration files of `git` that are covered with private copies.
    pub(crate) private_configs: Vec<PrivateConfig>,
}

impl ProtectedPaths {
    /// Returns the mount plan without these paths, which do not exist and cannot be created.
    pub(crate) fn mount_plan_without(&self, missing: &[PathBuf]) -> MountPlan {
        let private = self.guards.iter().filter(|(_, guard)| **guard == GuardKind::PrivateConfig);
        // A file that cannot be copied is mounted read-only.
        let private_configs: Vec<_> =
            private.filter_map(|(path, _)| PrivateConfig::read(path)).collect();
        let is_private = |path: &PathBuf| private_configs.iter().any(|one| one.path == *path);
        let guards = self.guards.keys();
        let guards = guards.filter(|path| !missing.contains(path) && !is_private(path));
        MountPlan {
            pins: self.pins.iter().cloned().collect(),
            guards: guards.cloned().collect(),
            placeholders: Vec::new(),
            placeholder_directories: self.placeholder_directories(missing),
            private_configs,
        }
    }

    /// Returns the mount plan of a staged run, which creates nothing on the host.
    pub(crate) fn staged_mount_plan(&self) -> MountPlan {
        let missing = |(path, guard): (&PathBuf, &GuardKind)| match guard {
            GuardKind::Missing(placeholder) => Some((path.clone(), *placeholder)),
            GuardKind::Present | GuardKind::Link | GuardKind::PrivateConfig => None,
        };
        let placeholders = self.guards.iter().filter_map(missing).collect();
        MountPlan {
            pins: self.pins.iter().cloned().collect(),
            guards: self.guards.keys().cloned().collect(),
            placeholders,
            placeholder_directories: self.placeholder_directories(&[]),
            private_configs: Vec::new(),
        }
    }

    /// Returns the guarded directories that are placeholders, without these paths.
    fn placeholder_directories(&self, skipped: &[PathBuf]) -> Vec<PathBuf> {
        let is_placeholder = |path: &Path, guard: GuardKind| match guard {
            GuardKind::Missing(kind) => kind == PlaceholderKind::Directory,
            GuardKind::Present => path.is_dir() && may_be_placeholder(path),
            GuardKind::Link | GuardKind::PrivateConfig => false,
        };
        let guards = self.guards.iter();
        let guards = guards.filter(|(path, guard)| is_placeholder(path, **guard));
        guards.map(|(path, _)| path).filter(|path| !skipped.contains(path)).cloned().collect()
    }

    /// Returns whether this directory could not be searched before the run.
    pub(crate) fn is_known_unsearched(&self, path: &Path) -> bool {
        let found = unsearched_finding(path);
        found.is_some_and(|found| self.unsearched_findings.contains(&found))
    }

    /// Returns whether this path, or a directory above it, is guarded.
    #[must_use]
    pub(crate) fn contains(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.guards.contains_key(above))
    }
}
