//! Writing of a file below an open directory, in one step: readers see the old or the new content.

use std::{
    ffi::OsStr,
    fs::{File, Permissions},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::Write as _,
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
    path::Path,
};

use rustix::{
    fs::{Access, AtFlags, Mode, OFlags, accessat, openat, renameat, statat, unlinkat},
    io::Errno,
};

use super::file_error::{FileError, check_regular};
use crate::anchored_open::OpenMethod;

/// The number of attempts to find a name for the temporary file.
const MAX_ATTEMPTS: usize = 16;

/// Replaces the content of a file, which is created if it does not exist. Missing directories are
/// created, too. The permissions of an existing file are kept.
///
/// # Errors
/// Returns an error if the path is no regular file, or if it cannot be written. It is unchanged
/// then.
pub(crate) fn write_file(
    root: &OwnedFd,
    path: &Path,
    content: &[u8],
    method: OpenMethod,
) -> Result<(), FileError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::ISDIR.into());
    };
    let directory = method.create_directories(root, parent)?;
    let mode = existing_mode(&directory, name)?;
    let (temporary, file) = create_temporary(&directory)?;
    let renamed = fill(file, content, mode)
        .and_then(|()| Ok(renameat(&directory, &temporary, &directory, name)?));
    if renamed.is_err() {
        // The first error is reported.
        _ = unlinkat(&directory, &temporary, AtFlags::empty());
    }
    renamed
}

/// Returns the permissions of the existing file, or `None` if there is none.
fn existing_mode(directory: &OwnedFd, name: &OsStr) -> Result<Option<u32>, FileError> {
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    check_regular(&stat)?;
    match accessat(directory, name, Access::WRITE_OK, AtFlags::EACCESS) {
        Ok(()) => Ok(Some(stat.st_mode & 0o777)),
        Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => Err(FileError::ReadOnly),
        Err(error) => Err(error.into()),
    }
}

/// Creates a file with a random name.
fn create_temporary(directory: &OwnedFd) -> Result<(String, File), FileError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for _ in 0..MAX_ATTEMPTS {
        let name = format!(".tool_approval-{:016x}.tmp", random_number());
        match openat(directory, &name, flags, Mode::from_raw_mode(0o666)) {
            Ok(file) => return Ok((name, File::from(file))),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(Errno::EXIST.into())
}

/// Returns a number that other processes cannot guess. Each `RandomState` has new keys.
fn random_number() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn fill(mut file: File, content: &[u8], mode: Option<u32>) -> Result<(), FileError> {
    file.write_all(content)?;
    if let Some(mode) = mode {
        file.set_permissions(Permissions::from_mode(mode))?;
    }
    Ok(file.sync_all()?)
}
