//! Quarantine: new files that a program of the host would run are renamed until a person has
//! decided about them.

use std::{
    ffi::{OsStr, OsString},
    hash::{BuildHasher as _, RandomState},
    io,
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{
        CWD, FileType, Mode, OFlags, RenameFlags, ResolveFlags, chmod, fstat, openat2,
        renameat_with,
    },
    io::Errno,
};

use crate::protected_paths::{QUARANTINE_SUFFIX, with_access};

/// The maximum length of a file name (limits.h).
const NAME_MAX: usize = 255;

/// The number of names that are tried. All but the first are random, so that a program cannot use
/// them up in advance.
const MAX_ATTEMPTS: usize = 16;

/// Quarantines a hook or configuration file: renames it to a name in the same directory that `git`
/// does not know, and returns the new path. Never replaces a file. Directories of this user that
/// refuse access are made accessible meanwhile.
///
/// # Errors
/// Returns an error if it cannot be renamed. It keeps its name then.
pub(crate) fn quarantine_path(path: &Path) -> io::Result<PathBuf> {
    Ok(with_access(path, || rename_to_quarantine(path))?)
}

fn rename_to_quarantine(path: &Path) -> Result<PathBuf, Errno> {
    let (directory, name) = open_parent(path)?;
    for aside in quarantine_names(name) {
        match renameat_with(&directory, name, &directory, &aside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
            Ok(()) => return Ok(path.with_file_name(aside)),
        }
    }
    Err(Errno::EXIST)
}

/// Returns the names in quarantine that are tried for a file, in order.
pub(super) fn quarantine_names(name: &OsStr) -> impl Iterator<Item = OsString> {
    let random = std::iter::repeat_with(|| format!("{QUARANTINE_SUFFIX}.{}", random_number()));
    let suffixes = std::iter::once(QUARANTINE_SUFFIX.to_owned()).chain(random).take(MAX_ATTEMPTS);
    suffixes.map(|suffix| quarantine_name(name, &suffix))
}

/// Returns a number that no program can guess, because the keys of the hash are random.
fn random_number() -> u64 {
    RandomState::new().hash_one(QUARANTINE_SUFFIX)
}

/// Removes all permissions from a file that could not be quarantined, as on a file system that has
/// no space for another name. Then only root can still run or read it. A file that has other names
/// keeps them.
pub(crate) fn remove_permissions(path: &Path) {
    let _not_closed = with_access(path, || {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        let found = fstat(&opened)?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile if found.st_nlink > 1 => Ok(()),
            FileType::RegularFile | FileType::Directory => {
                chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), Mode::empty())
            }
            _ => Ok(()),
        }
    });
}

/// Returns the name of a file in quarantine. A name that would be too long is truncated.
fn quarantine_name(name: &OsStr, suffix: &str) -> OsString {
    let kept = name.as_bytes().get(..NAME_MAX - suffix.len()).unwrap_or_else(|| name.as_bytes());
    let mut aside = OsStr::from_bytes(kept).to_owned();
    aside.push(suffix);
    aside
}

/// Restores the name of a quarantined file, after a person has approved that. Never replaces a
/// file.
///
/// # Errors
/// Returns an error if the quarantined file does not exist any more, or if there is a file with its
/// old name.
pub fn restore_quarantined_file(path: &AbsPath, held: &AbsPath) -> io::Result<()> {
    let (path, held) = (Path::new(path.as_str()), Path::new(held.as_str()));
    Ok(with_access(path, || {
        let ((directory, name), (same, aside)) = (open_parent(path)?, open_parent(held)?);
        renameat_with(same, aside, directory, name, RenameFlags::NOREPLACE)
    })?)
}

/// Opens the parent directory without following symbolic links. Returns it with the name in it.
pub(super) fn open_parent(path: &Path) -> Result<(OwnedFd, &OsStr), Errno> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::NOENT);
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    Ok((directory, name))
}
