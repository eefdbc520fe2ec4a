//! What was covered stays covered. When somebody outside removes a file or renames another one over it (an editor that saves
//! does), the kernel takes every mount away that lay on the old one, in all namespaces; the new file is covered again here.
//!
//! Between the two lies a moment. Nobody inside can bring it about, and what is changed in it is found by the look after the run.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::{fd::OwnedFd, unix::fs::DirBuilderExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{AtFlags, CWD, StatxAttributes, StatxFlags, statx},
    mount::{UnmountFlags, unmount},
    time::Timespec,
};

use super::mounts;

/// How often is looked for what is not there, and how often at most: who saves by removing and making anew needs a moment.
const RETRY_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
const MAX_ATTEMPTS: u32 = 500;

/// The covers of one run.
#[derive(Debug)]
pub(super) struct RemountState {
    guards: Vec<PathBuf>,
    unreadable: Vec<AbsPath>,
    /// Says when a mount has come or gone (proc_pid_mountinfo(5)).
    mount_table: OwnedFd,
    /// How often a guard was looked for in vain.
    attempts: u32,
    /// What was put where something guarded has gone.
    placeholders: Vec<PathBuf>,
}

impl RemountState {
    pub(super) fn new(guards: &[PathBuf], unreadable: Vec<AbsPath>) -> io::Result<Self> {
        let mounts = File::open("/proc/self/mountinfo")?.into();
        // What is hidden is hidden again, and not shown read-only.
        let hidden =
            |path: &PathBuf| unreadable.iter().any(|one| path.as_path() == Path::new(one.as_str()));
        let guards = guards.iter().filter(|path| !hidden(path)).cloned().collect();
        Ok(Self { guards, unreadable, mount_table: mounts, attempts: 0, placeholders: Vec::new() })
    }

    /// The descriptor to wait at for changes, which are exceptional conditions.
    pub(super) const fn mount_table(&self) -> &OwnedFd {
        &self.mount_table
    }

    /// How long to wait at most, because something is looked for.
    pub(super) const fn poll_timeout(&self) -> Option<&Timespec> {
        if self.attempts > 0 { Some(&RETRY_INTERVAL) } else { None }
    }

    /// Covers again what lies bare; says where it had to put something.
    ///
    /// # Errors
    /// Where that cannot be done: then nothing may go on.
    pub(super) fn restore_covers(&mut self, placed: impl Fn(&Path)) -> io::Result<()> {
        let mut passing = false;
        for path in self.unreadable.iter().filter(|path| is_uncovered(Path::new(path.as_str()))) {
            passing |= !is_mounted(mounts::hide_path(path))?;
        }
        let mut missing = Vec::new();
        for path in &self.guards {
            let covered = path.symlink_metadata().is_ok()
                && (!is_uncovered(path) || is_mounted(mounts::bind_read_only(path))?);
            missing.extend((!covered).then(|| path.clone()));
        }
        self.attempts = if missing.is_empty() && !passing { 0 } else { self.attempts + 1 };
        if self.attempts > MAX_ATTEMPTS {
            for path in &missing {
                self.create_placeholder(path)?;
                placed(path);
            }
            self.attempts = 0;
        }
        Ok(())
    }

    /// Puts an empty directory where something has gone: nobody inside makes it anew.
    fn create_placeholder(&mut self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o555).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        self.placeholders.push(path.to_owned());
        mounts::bind_read_only(path)
    }

    /// Takes away what was put, where the supervisor is gone and cannot.
    pub(super) fn remove_placeholders(&self) {
        for path in &self.placeholders {
            _ = unmount(path, UnmountFlags::DETACH);
            // It goes only if it is empty.
            drop(fs::remove_dir(path));
        }
    }
}

/// Says whether it was done. Mounts go a moment before the file does; what is on its way out takes none.
fn is_mounted(done: io::Result<()>) -> io::Result<bool> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        done => done.map(|()| true),
    }
}

/// Says whether something is there that nothing is mounted on.
fn is_uncovered(path: &Path) -> bool {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    found.is_ok_and(|found| !found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
