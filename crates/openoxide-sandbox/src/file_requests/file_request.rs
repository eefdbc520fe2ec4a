//! The file request of a suspended system call: as read from its registers and memory, and as
//! resolved.

use rustix::{
    fs::{Mode, OFlags, RenameFlags},
    io::Errno,
};

use crate::{
    file_requests::{requested_path::RequestedPath, resolved_entry::ResolvedEntry},
    interface::{FileOperation, RequestedChange},
    seccomp::PendingSyscall,
};

/// A file request. `F` is the type that represents its files.
#[derive(Debug)]
pub(crate) enum FileRequest<F> {
    Open { file: F, flags: OFlags, mode: Mode },
    MakeDirectory { file: F, mode: Mode },
    Remove { file: F, directory: bool },
    Rename { from: F, to: F, flags: RenameFlags },
}

impl FileRequest<RequestedPath> {
    /// Reads a call. Returns `None` if it is not a call that the supervisor performs.
    pub(super) fn from_syscall(call: &PendingSyscall<'_>) -> Result<Option<Self>, Errno> {
        let flags = |at| OFlags::from_bits_retain(call.int_argument(at).cast_unsigned());
        let mode = |at| Mode::from_raw_mode(call.int_argument(at).cast_unsigned() & 0o1777);
        let at = |path: usize| RequestedPath::from_argument(call, libc::AT_FDCWD, path);
        let from = |base: usize, path: usize| {
            RequestedPath::from_argument(call, call.int_argument(base), path)
        };
        Ok(Some(match call.syscall_number() {
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => Self::Open { file: at(0)?, flags: flags(1), mode: mode(2) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_creat => {
                let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::TRUNC;
                Self::Open { file: at(0)?, flags, mode: mode(1) }
            }
            libc::SYS_openat => Self::Open { file: from(0, 1)?, flags: flags(2), mode: mode(3) },
            #[cfg(target_arch = "x86_64")]
            libc::SYS_mkdir => Self::MakeDirectory { file: at(0)?, mode: mode(1) },
            libc::SYS_mkdirat => Self::MakeDirectory { file: from(0, 1)?, mode: mode(2) },
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
            _ => return Ok(None),
        }))
    }

    /// Resolves the request. Returns `None` if the mounts allow it, or if the supervisor does not
    /// perform such a request.
    pub(super) fn resolve(self, call: &PendingSyscall<'_>) -> Option<FileRequest<ResolvedEntry>> {
        Some(match self {
            Self::Open { file, flags, mode } => {
                // Without a name there is nothing to review. A call with one of these flags writes
                // nothing.
                if flags.intersects(OFlags::PATH | OFlags::DIRECTORY) {
                    return None;
                }
                let new = flags.contains(OFlags::CREATE | OFlags::EXCL);
                let file = if new || flags.contains(OFlags::NOFOLLOW) {
                    ResolvedEntry::resolve_name(call, &file)?
                } else {
                    ResolvedEntry::resolve_target(call, &file)?
                };
                FileRequest::Open { file, flags, mode }
            }
            Self::MakeDirectory { file, mode } => FileRequest::MakeDirectory {
                file: ResolvedEntry::resolve_name(call, &file.strip_trailing_slashes())?,
                mode,
            },
            Self::Remove { file, directory: true } => FileRequest::Remove {
                file: ResolvedEntry::resolve_name(call, &file.strip_trailing_slashes())?,
                directory: true,
            },
            Self::Remove { file, directory: false } => FileRequest::Remove {
                file: ResolvedEntry::resolve_name(call, &file)?,
                directory: false,
            },
            Self::Rename { from, to, flags } => FileRequest::Rename {
                from: ResolvedEntry::resolve_name(call, &from)?,
                to: ResolvedEntry::resolve_name(call, &to)?,
                flags,
            },
        })
    }
}

impl FileRequest<ResolvedEntry> {
    /// The files that change.
    pub(super) fn entries(&self) -> impl Iterator<Item = &ResolvedEntry> {
        let (first, second) = match self {
            Self::Open { file, .. }
            | Self::MakeDirectory { file, .. }
            | Self::Remove { file, .. } => (file, None),
            Self::Rename { from, to, .. } => (from, Some(to)),
        };
        [first].into_iter().chain(second)
    }

    /// Returns the change to review.
    pub(super) fn to_requested_change(&self) -> RequestedChange {
        let (deed, file, to) = match self {
            Self::Open { file, .. } => (FileOperation::Write, file, None),
            Self::MakeDirectory { file, .. } => (FileOperation::MakeDirectory, file, None),
            Self::Remove { file, .. } => (FileOperation::Remove, file, None),
            Self::Rename { from, to, .. } => (FileOperation::Rename, from, Some(to.path().clone())),
        };
        let other_names = if deed == FileOperation::Write { file.other_link_count() } else { 0 };
        RequestedChange {
            operation: deed,
            path: file.path().clone(),
            target: to,
            other_links: other_names,
        }
    }
}
