//! The decoding of system calls that change files.

use std::{ffi::OsString, path::PathBuf};

use rustix::{
    fs::{FileType, Mode, OFlags, RenameFlags, Timestamps, UTIME_NOW, UTIME_OMIT},
    io::Errno,
    time::Timespec,
};

use crate::{
    file_requests::{file_request::FileRequest, requested_path::RequestedPath},
    seccomp::PendingSyscall,
};

const NANOSECONDS: i64 = 1_000_000_000;

impl FileRequest<RequestedPath> {
    /// Reads a call. Returns `None` if it is not a call that the supervisor performs.
    pub(in crate::file_requests) fn from_syscall(
        call: &PendingSyscall<'_>,
    ) -> Result<Option<Self>, Errno> {
        let flags = |at| OFlags::from_bits_retain(call.int_argument(at).cast_unsigned());
        let mode = |at| Mode::from_raw_mode(call.int_argument(at).cast_unsigned() & 0o1777);
        let at = |path: usize| RequestedPath::from_argument(call, libc::AT_FDCWD, path);
        let from = |base: usize, path: usize| {
            RequestedPath::from_argument(call, call.int_argument(base), path)
        };
        let text = |at: usize| call.read_path(at).map(PathBuf::into_os_string);
        Ok(Some(match call.syscall_number() {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Self::Open { file: at(0)?, flags: flags(1), mode: mode(2) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
                Self::Open { file: at(0)?, flags, mode: mode(1) }
            }
            libc::SYS_openat => Self::Open { file: from(0, 1)?, flags: flags(2), mode: mode(3) },
            libc::SYS_truncate => {
                let Ok(length) = u64::try_from(call.argument(1).cast_signed()) else {
                    return Ok(None);
                };
                Self::Truncate { file: at(0)?, length }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => Self::MakeDirectory { file: at(0)?, mode: mode(1) },
            libc::SYS_mkdirat => Self::MakeDirectory { file: from(0, 1)?, mode: mode(2) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mknod if is_pipe(call.int_argument(1)) => {
                Self::MakePipe { file: at(0)?, mode: mode(1) }
            }
            libc::SYS_mknodat if is_pipe(call.int_argument(2)) => {
                Self::MakePipe { file: from(0, 1)?, mode: mode(2) }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_symlink => new_symlink(text(0)?, at(1)?),
            libc::SYS_symlinkat => new_symlink(text(0)?, from(1, 2)?),
            #[cfg(target_arch = "x86_64")]
            libc::SYS_link => Self::Link { from: at(0)?, to: at(1)? },
            libc::SYS_linkat if call.int_argument(4) == 0 => {
                Self::Link { from: from(0, 1)?, to: from(2, 3)? }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rmdir => Self::Remove { file: at(0)?, directory: true },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_unlink => Self::Remove { file: at(0)?, directory: false },
            libc::SYS_unlinkat => match call.int_argument(2) {
                0 => Self::Remove { file: from(0, 1)?, directory: false },
                libc::AT_REMOVEDIR => Self::Remove { file: from(0, 1)?, directory: true },
                _ => return Ok(None),
            },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_rename => {
                Self::Rename { from: at(0)?, to: at(1)?, flags: RenameFlags::empty() }
            }
            libc::SYS_renameat => {
                Self::Rename { from: from(0, 1)?, to: from(2, 3)?, flags: RenameFlags::empty() }
            }
            libc::SYS_renameat2 => {
                let flags = RenameFlags::from_bits_retain(call.int_argument(4).cast_unsigned());
                if !RenameFlags::NOREPLACE.contains(flags) {
                    return Ok(None);
                }
                Self::Rename { from: from(0, 1)?, to: from(2, 3)?, flags }
            }
            #[cfg(target_arch = "x86_64")]
            libc::SYS_chmod => Self::SetMode { file: at(0)?, mode: mode(1) },
            libc::SYS_fchmodat => Self::SetMode { file: from(0, 1)?, mode: mode(2) },
            libc::SYS_fchmodat2 if call.int_argument(3) == 0 => {
                Self::SetMode { file: from(0, 1)?, mode: mode(2) }
            }
            // Without a path, the call is about an open file.
            libc::SYS_utimensat if call.argument(1) != 0 => {
                let follow = match call.int_argument(3) {
                    0 => true,
                    libc::AT_SYMLINK_NOFOLLOW => false,
                    _ => return Ok(None),
                };
                let Some(times) = read_times(call, 2)? else { return Ok(None) };
                Self::SetTimes { file: from(0, 1)?, times, follow }
            }
            _ => return Ok(None),
        }))
    }
}

const fn new_symlink(text: OsString, file: RequestedPath) -> FileRequest<RequestedPath> {
    FileRequest::MakeSymlink { file, text }
}

fn is_pipe(mode: i32) -> bool {
    FileType::from_raw_mode(mode.cast_unsigned()) == FileType::Fifo
}

/// Copies the times that an argument points to. Returns `None` if the kernel would refuse them.
fn read_times(call: &PendingSyscall<'_>, at: usize) -> Result<Option<Timestamps>, Errno> {
    if call.argument(at) == 0 {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        return Ok(Some(Timestamps { last_access: now, last_modification: now }));
    }
    let [access, access_rest, modification, modification_rest] = call.read_numbers::<4>(at)?;
    let time = |tv_sec: i64, tv_nsec: i64| {
        let is_valid = matches!(tv_nsec, 0..NANOSECONDS | UTIME_NOW | UTIME_OMIT);
        is_valid.then_some(Timespec { tv_sec, tv_nsec })
    };
    let times = time(access, access_rest).zip(time(modification, modification_rest));
    Ok(times.map(|(last_access, last_modification)| Timestamps { last_access, last_modification }))
}
