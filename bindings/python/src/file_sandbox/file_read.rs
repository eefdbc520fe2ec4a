//! Reading of a file below an open directory.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::{AsRawFd as _, OwnedFd},
    path::Path,
};

use rustix::fs::{Mode, OFlags, Stat, fstat, open};

use super::file_error::{FileError, check_regular};
use crate::anchored_open::OpenMethod;

/// The flags for reading. Opening a FIFO or a device does not block.
const READ: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Returns the content of a file, if it is not longer than `limit`.
///
/// # Errors
/// Returns an error if the file does not exist, is no regular file, or is too long.
pub(crate) fn read_file(
    root: &OwnedFd,
    path: &Path,
    limit: u64,
    method: OpenMethod,
) -> Result<Vec<u8>, FileError> {
    // A device may act when it is opened. This descriptor refers to the file without opening it.
    let found = method.open_below(root, path, OFlags::PATH)?;
    check_regular(&fstat(&found)?)?;
    let opened = reopen(&found).or_else(|_| method.open_below(root, path, READ))?;
    let stat = fstat(&opened)?;
    if identity(&stat) != identity(&fstat(&found)?) {
        return Err(FileError::Changed);
    }
    check_regular(&stat)?;
    check_length(u64::try_from(stat.st_size).unwrap_or(u64::MAX), limit)?;
    let mut content = Vec::new();
    File::from(opened).take(limit.saturating_add(1)).read_to_end(&mut content)?;
    check_length(u64::try_from(content.len()).unwrap_or(u64::MAX), limit)?;
    Ok(content)
}

/// Opens the file that a descriptor refers to. This needs `/proc`.
fn reopen(found: &OwnedFd) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    Ok(open(path, READ | OFlags::CLOEXEC, Mode::empty())?)
}

const fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev, stat.st_ino)
}

/// Checks that a file is not too long.
///
/// # Errors
/// Returns an error if it is.
pub(crate) fn check_length(length: u64, limit: u64) -> Result<(), FileError> {
    if length > limit { Err(FileError::TooLong { length, limit }) } else { Ok(()) }
}
