//! Set-group-ID modes of directories (chmod(2)).
//!
//! New files in such a directory get its group. On a file, the same bit would run it with the
//! rights of its group, and the filter cannot see which of both a call is for. So the supervisor
//! sets the mode, of a directory that it has opened.

use std::{
    fs::{self, Permissions},
    os::{fd::OwnedFd, unix::fs::PermissionsExt as _},
};

use rustix::{
    fs::{FileType, OFlags, fstat},
    io::Errno,
    process::geteuid,
};

use crate::seccomp::{PendingSyscall, descriptor_path};

/// The bits of a mode that chmod(2) sets, without set-user-ID.
const MODE_BITS: u32 = 0o3777;

/// The reason why a mode was not set.
pub(super) enum ModeError {
    /// The file is not a directory.
    NotADirectory,
    /// The error of the kernel.
    Kernel(Errno),
}

impl From<Errno> for ModeError {
    fn from(error: Errno) -> Self {
        Self::Kernel(error)
    }
}

/// Performs a call of the chmod(2) family whose mode has the set-group-ID bit.
pub(super) fn set_mode(call: &PendingSyscall<'_>) -> Result<(), ModeError> {
    let (file, mode) = open_file(call)?;
    let found = fstat(&file)?;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        return Err(ModeError::NotADirectory);
    }
    // Inside, no process has the capability to change the files of other users.
    if found.st_uid != geteuid().as_raw() || mode & !MODE_BITS != 0 {
        return Err(Errno::PERM.into());
    }
    // The path leads to the opened directory, through the mount that the program sees: if that is
    // read-only, the kernel refuses the change.
    fs::set_permissions(descriptor_path(&file), Permissions::from_mode(mode))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO).into())
}

/// Opens the file of a call, and returns it with the new mode. Of the mode, the kernel ignores
/// everything above the permissions.
fn open_file(call: &PendingSyscall<'_>) -> Result<(OwnedFd, u32), Errno> {
    let mode = |at: usize| call.int_argument(at).cast_unsigned() & 0o7777;
    let directory = || call.int_argument(0);
    match call.syscall_number() {
        libc::SYS_fchmod => Ok((call.duplicate_descriptor()?, mode(1))),
        libc::SYS_fchmodat => Ok((call.open_at(directory(), 1, OFlags::empty())?, mode(2))),
        libc::SYS_fchmodat2 => {
            let file = match call.int_argument(3) {
                0 => call.open_at(directory(), 1, OFlags::empty())?,
                libc::AT_SYMLINK_NOFOLLOW => call.open_at(directory(), 1, OFlags::NOFOLLOW)?,
                _ => return Err(Errno::INVAL),
            };
            Ok((file, mode(2)))
        }
        // chmod(2), which only some architectures have.
        _ => Ok((call.open_at(libc::AT_FDCWD, 0, OFlags::empty())?, mode(1))),
    }
}
