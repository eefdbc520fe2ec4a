//! Temporary access to directories of this user that a program has made inaccessible.

use std::{
    cell::RefCell,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, chmod, fstat, openat2},
    io::Errno,
};

/// The permissions that the owner needs to list a directory and to rename its entries.
const OWNER_ACCESS: Mode = Mode::RWXU;

/// Calls a function on a path. If a directory above refuses access and belongs to this user, makes
/// it accessible, calls the function once more and restores the mode of the directory.
///
/// # Errors
/// Returns the error of the last call.
pub(crate) fn with_access<T>(
    path: &Path,
    mut act: impl FnMut() -> Result<T, Errno>,
) -> Result<T, Errno> {
    match act() {
        Err(Errno::ACCESS | Errno::PERM) => {
            let opened = TemporaryPermissions::default();
            let above: Vec<_> = path.ancestors().skip(1).collect();
            // If a directory cannot be made accessible, the second call fails, too.
            above
                .into_iter()
                .rev()
                .for_each(|directory| _ = opened.make_directory_accessible(directory));
            act()
        }
        result => result,
    }
}

/// Directories that were made accessible, with their previous modes. These are restored when this
/// is dropped.
#[derive(Debug, Default)]
pub(crate) struct TemporaryPermissions(RefCell<Vec<(PathBuf, Mode)>>);

impl TemporaryPermissions {
    /// Makes a directory and its parent directory accessible. Returns whether anything has changed.
    pub(crate) fn make_accessible(&self, path: &Path) -> bool {
        let above =
            path.parent().is_some_and(|above| self.make_directory_accessible(above).is_ok());
        self.make_directory_accessible(path).is_ok() || above
    }

    fn make_directory_accessible(&self, path: &Path) -> Result<(), Errno> {
        let directory = open_directory(path)?;
        let found = fstat(&directory)?;
        let mode = Mode::from_raw_mode(found.st_mode & 0o7777);
        let own = found.st_uid == rustix::process::geteuid().as_raw();
        if !own || mode.contains(OWNER_ACCESS) {
            return Err(Errno::ACCESS);
        }
        set_mode(&directory, mode | OWNER_ACCESS)?;
        self.0.borrow_mut().push((path.to_owned(), mode));
        Ok(())
    }
}

impl Drop for TemporaryPermissions {
    fn drop(&mut self) {
        for (path, mode) in self.0.get_mut().drain(..).rev() {
            // A directory that no longer exists needs no mode.
            _ = open_directory(&path).and_then(|directory| set_mode(&directory, mode));
        }
    }
}

/// Opens the directory itself, without following symbolic links.
fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

/// Sets the mode through `/proc`, because a descriptor that was opened with `O_PATH` does not allow
/// it directly.
fn set_mode(directory: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    chmod(format!("/proc/self/fd/{}", directory.as_raw_fd()), mode)
}
