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
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
const LOOKS: u32 = 500;

/// The covers of one run.
#[derive(Debug)]
pub(super) struct Kept {
    guards: Vec<PathBuf>,
    unreadable: Vec<AbsPath>,
    /// Says when a mount has come or gone (proc_pid_mountinfo(5)).
    mounts: OwnedFd,
    /// How often a guard was looked for in vain.
    looks: u32,
    /// What was put where something guarded has gone.
    placed: Vec<PathBuf>,
}

impl Kept {
    pub(super) fn new(guards: &[PathBuf], unreadable: Vec<AbsPath>) -> io::Result<Self> {
        let mounts = File::open("/proc/self/mountinfo")?.into();
        // What is hidden is hidden again, and not shown read-only.
        let hidden =
            |path: &PathBuf| unreadable.iter().any(|one| path.as_path() == Path::new(one.as_str()));
        let guards = guards.iter().filter(|path| !hidden(path)).cloned().collect();
        Ok(Self { guards, unreadable, mounts, looks: 0, placed: Vec::new() })
    }

    /// The descriptor to wait at for changes, which are exceptional conditions.
    pub(super) const fn mounts(&self) -> &OwnedFd {
        &self.mounts
    }

    /// How long to wait at most, because something is looked for.
    pub(super) const fn patience(&self) -> Option<&Timespec> {
        if self.looks > 0 { Some(&LOOK) } else { None }
    }

    /// Covers again what lies bare; says where it had to put something.
    ///
    /// # Errors
    /// Where that cannot be done: then nothing may go on.
    pub(super) fn cover(&mut self, placed: impl Fn(&Path)) -> io::Result<()> {
        let mut passing = false;
        for path in self.unreadable.iter().filter(|path| is_bare(Path::new(path.as_str()))) {
            passing |= !settled(mounts::hide(path))?;
        }
        let mut missing = Vec::new();
        for path in &self.guards {
            let covered = path.symlink_metadata().is_ok()
                && (!is_bare(path) || settled(mounts::guard(path))?);
            missing.extend((!covered).then(|| path.clone()));
        }
        self.looks = if missing.is_empty() && !passing { 0 } else { self.looks + 1 };
        if self.looks > LOOKS {
            for path in &missing {
                self.place(path)?;
                placed(path);
            }
            self.looks = 0;
        }
        Ok(())
    }

    /// Puts an empty directory where something has gone: nobody inside makes it anew.
    fn place(&mut self, path: &Path) -> io::Result<()> {
        match DirBuilder::new().mode(0o555).create(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
        self.placed.push(path.to_owned());
        mounts::guard(path)
    }

    /// Takes away what was put, where the supervisor is gone and cannot.
    pub(super) fn end(&self) {
        for path in &self.placed {
            _ = unmount(path, UnmountFlags::DETACH);
            // It goes only if it is empty.
            drop(fs::remove_dir(path));
        }
    }
}

/// Says whether it was done. Mounts go a moment before the file does; what is on its way out takes none.
fn settled(done: io::Result<()>) -> io::Result<bool> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        done => done.map(|()| true),
    }
}

/// Says whether something is there that nothing is mounted on.
fn is_bare(path: &Path) -> bool {
    let found = statx(CWD, path, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::empty());
    found.is_ok_and(|found| !found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}
