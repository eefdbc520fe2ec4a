//! The lock of a project's layers.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _},
    path::Path,
    time::SystemTime,
};

use openoxide_protocol::AbsPath;

use crate::protected_paths::PlaceholderRegistry;

/// The right of one run to mount the layers of a project. Processes that are forked while it exists
/// keep the lock, too, so the layers stay locked until the first process inside has ended.
#[derive(Debug)]
pub(crate) struct LayerLease {
    directory: AbsPath,
    lock: File,
}

impl LayerLease {
    /// Locks the layers in this directory, which is created if it does not exist. Returns `None` if
    /// another run uses them, or if another user could change them.
    pub(crate) fn acquire(directory: &AbsPath) -> Option<Self> {
        Self::try_acquire(Path::new(directory.as_str())).ok()
    }

    fn try_acquire(directory: &Path) -> io::Result<Self> {
        let root = directory.parent().ok_or(io::ErrorKind::NotFound)?;
        // Opening fails unless the directory belongs to the user.
        PlaceholderRegistry::open(root)?;
        // The mounts resolve no links.
        let root = fs::canonicalize(root)?;
        let directory = root.join(directory.file_name().ok_or(io::ErrorKind::NotFound)?);
        match DirBuilder::new().mode(0o700).create(&directory) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
        PlaceholderRegistry::open(&directory)?;
        let lock = lock_layers(&directory)?;
        // The time of the last use, for the removal of old layers.
        lock.set_modified(SystemTime::now())?;
        let path = directory.to_str().ok_or(io::ErrorKind::InvalidFilename)?;
        Ok(Self { directory: AbsPath::new(path).map_err(io::Error::other)?, lock })
    }

    /// Returns the directory, with links resolved.
    pub(crate) const fn directory(&self) -> &AbsPath {
        &self.directory
    }

    /// Unlocks the layers, also for the processes that were forked while they were locked. Processes
    /// of the run must not be left.
    pub(crate) fn release(self) {
        // Without this, the layers are unlocked when the last of the processes has ended.
        drop(self.lock.unlock());
    }
}

/// Locks a directory of layers.
///
/// # Errors
/// Returns an error if it is locked, or if it was removed in the meantime.
pub(super) fn lock_layers(directory: &Path) -> io::Result<File> {
    let lock = File::open(directory)?;
    lock.try_lock()?;
    let (locked, found) = (lock.metadata()?, fs::symlink_metadata(directory)?);
    let same = (locked.dev(), locked.ino()) == (found.dev(), found.ino());
    if same { Ok(lock) } else { Err(io::ErrorKind::NotFound.into()) }
}
