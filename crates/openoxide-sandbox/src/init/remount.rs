//! Restoration of covers. If a process outside of the sandbox removes a file or renames another one
//! over it (as an editor does to save), the kernel detaches every mount on the old file, in all
//! mount namespaces. This module covers the new file again.
//!
//! There is a short gap in between. A process inside cannot cause it, and the scan after the run
//! finds the changes that were made in it.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, File},
    io,
    os::{fd::OwnedFd, unix::fs::DirBuilderExt as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx},
    mount::{UnmountFlags, unmount},
    time::Timespec,
};

use crate::{
    init::{hidden_paths::hide_path, mount_operations::bind_read_only, private_configs},
    protected_paths::MountPlan,
};

/// The interval between searches for a missing guarded path, and the time after which a placeholder
/// replaces it. A program that saves by removing and recreating a file needs a moment.
const RETRY_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
const SEARCH_TIME: Duration = Duration::from_secs(1);

/// The covers of one run.
#[derive(Debug)]
pub(super) struct RemountState {
    guards: Vec<PathBuf>,
    /// Files that are covered with links to private copies, in the order of the copies.
    private_configs: Vec<PathBuf>,
    unreadable: Vec<AbsPath>,
    /// A descriptor that reports when a mount was added or removed (proc_pid_mountinfo(5)).
    mount_table: OwnedFd,
    /// The time since which a guarded path has been missing.
    searching_since: Option<Instant>,
    /// The placeholders for guarded paths that have disappeared.
    placeholders: Vec<PathBuf>,
}

impl RemountState {
    pub(super) fn new(plan: &MountPlan, unreadable: Vec<AbsPath>) -> io::Result<Self> {
        let mounts = File::open("/proc/self/mountinfo")?.into();
        // A hidden path is hidden again, not shown read-only.
        let hidden =
            |path: &PathBuf| unreadable.iter().any(|one| path.as_path() == Path::new(one.as_str()));
        // If the host replaces a directory with hooks, the new one is read-only.
        let hooks = plan.private_hooks.iter().map(|one| &one.path);
        let guards = plan.guards.iter().chain(hooks);
        let guards = guards.filter(|path| !hidden(path)).cloned().collect();
        Ok(Self {
            guards,
            private_configs: plan.private_configs.iter().map(|one| one.path.clone()).collect(),
            unreadable,
            mount_table: mounts,
            searching_since: None,
            placeholders: Vec::new(),
        })
    }

    /// Returns the descriptor to poll for changes of the mounts. They are reported as exceptional
    /// conditions.
    pub(super) const fn mount_table(&self) -> &OwnedFd {
        &self.mount_table
    }

    /// Returns the maximum time to wait, if a search is in progress.
    pub(super) const fn poll_timeout(&self) -> Option<&Timespec> {
        if self.searching_since.is_some() { Some(&RETRY_INTERVAL) } else { None }
    }

    /// Covers uncovered paths again, and reports each placeholder that it had to create.
    ///
    /// # Errors
    /// Returns an error if a path cannot be covered. The run must not continue then.
    pub(super) fn restore_covers(&mut self, placed: impl Fn(&Path)) -> io::Result<()> {
        let mut passing = false;
        for path in self.unreadable.iter().filter(|path| is_uncovered(Path::new(path.as_str()))) {
            passing |= !is_mounted(hide_path(path, &BTreeSet::new()))?;
        }
        let mut missing = Vec::new();
        for path in &self.guards {
            let covered = path.symlink_metadata().is_ok()
                && (!is_uncovered(path) || is_mounted(bind_read_only(path))?);
            missing.extend((!covered).then(|| path.clone()));
        }
        for (number, path) in self.private_configs.iter().enumerate() {
            let covered = path.symlink_metadata().is_ok()
                && (!is_uncovered(path) || is_mounted(private_configs::cover(path, number))?);
            missing.extend((!covered).then(|| path.clone()));
        }
        if missing.is_empty() && !passing {
            self.searching_since = None;
        } else if self.searching_since.get_or_insert_with(Instant::now).elapsed() > SEARCH_TIME {
            for path in &missing {
                self.create_placeholder(path)?;
                placed(path);
            }
            self.searching_since = None;
        }
        Ok(())
    }

    /// Creates an empty directory where a guarded path has disappeared, so that no process inside
    /// can recreate it.
    fn create_placeholder(&mut self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o755).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        self.placeholders.push(path.to_owned());
        bind_read_only(path)
    }

    /// Removes the placeholders if the supervisor is gone and cannot do so.
    pub(super) fn remove_placeholders(&self) {
        for path in &self.placeholders {
            _ = unmount(path, UnmountFlags::DETACH);
            // The directory is removed only if it is empty.
            drop(fs::remove_dir(path));
        }
    }
}

/// Returns whether the mount succeeded. Mounts disappear shortly before their file does, and a file
/// that is being removed accepts no mount.
fn is_mounted(done: io::Result<()>) -> io::Result<bool> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        done => done.map(|()| true),
    }
}

/// Returns whether the path exists and nothing is mounted on it.
fn is_uncovered(path: &Path) -> bool {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    found.is_ok_and(|found| !found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
