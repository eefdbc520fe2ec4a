//! The file request of a suspended system call: as read from its registers and memory, and as
//! resolved.

mod decode;

use std::{ffi::OsString, path::Path};

use openoxide_protocol::AbsPath;
use rustix::fs::{Mode, OFlags, RenameFlags, Timestamps};

use crate::{
    file_requests::{requested_path::RequestedPath, resolved_entry::ResolvedEntry},
    interface::{FileOperation, RequestedChange},
    seccomp::PendingSyscall,
};

/// A file request. `F` is the type that represents its files.
#[derive(Debug)]
pub(crate) enum FileRequest<F> {
    Open {
        file: F,
        flags: OFlags,
        mode: Mode,
    },
    Truncate {
        file: F,
        length: u64,
    },
    MakeDirectory {
        file: F,
        mode: Mode,
    },
    MakePipe {
        file: F,
        mode: Mode,
    },
    /// A symbolic link. `text` is its content.
    MakeSymlink {
        file: F,
        text: OsString,
    },
    /// Another name of a file (a hard link).
    Link {
        from: F,
        to: F,
    },
    Remove {
        file: F,
        directory: bool,
    },
    Rename {
        from: F,
        to: F,
        flags: RenameFlags,
    },
    SetMode {
        file: F,
        mode: Mode,
    },
    SetTimes {
        file: F,
        times: Timestamps,
        follow: bool,
    },
}

impl<F> FileRequest<F> {
    /// The files that change.
    pub(super) fn files(&self) -> impl Iterator<Item = &F> {
        let (first, second) = match self {
            Self::Open { file, .. }
            | Self::Truncate { file, .. }
            | Self::MakeDirectory { file, .. }
            | Self::MakePipe { file, .. }
            | Self::MakeSymlink { file, .. }
            | Self::Remove { file, .. }
            | Self::SetMode { file, .. }
            | Self::SetTimes { file, .. } => (file, None),
            Self::Link { from, to } | Self::Rename { from, to, .. } => (from, Some(to)),
        };
        [first].into_iter().chain(second)
    }
}

impl FileRequest<RequestedPath> {
    /// Resolves the request. Returns `None` if the mounts allow it, or if the supervisor does not
    /// perform such a request.
    pub(super) fn resolve(self, call: &PendingSyscall<'_>) -> Option<FileRequest<ResolvedEntry>> {
        let name = |file: &RequestedPath| ResolvedEntry::resolve_name(call, file);
        let target = |file: &RequestedPath| ResolvedEntry::resolve_target(call, file);
        let directory = |file: RequestedPath| name(&file.strip_trailing_slashes());
        Some(match self {
            Self::Open { file, flags, mode } => {
                // Without a name there is nothing to review. A call with one of these flags writes
                // nothing.
                if flags.intersects(OFlags::PATH | OFlags::DIRECTORY) {
                    return None;
                }
                let new = flags.contains(OFlags::CREATE | OFlags::EXCL);
                let is_name = new || flags.contains(OFlags::NOFOLLOW);
                let file = if is_name { name(&file) } else { target(&file) }?;
                FileRequest::Open { file, flags, mode }
            }
            Self::Truncate { file, length } => {
                FileRequest::Truncate { file: target(&file)?, length }
            }
            Self::MakeDirectory { file, mode } => {
                FileRequest::MakeDirectory { file: directory(file)?, mode }
            }
            Self::MakePipe { file, mode } => FileRequest::MakePipe { file: name(&file)?, mode },
            Self::MakeSymlink { file, text } => {
                FileRequest::MakeSymlink { file: name(&file)?, text }
            }
            Self::Link { from, to } => FileRequest::Link { from: name(&from)?, to: name(&to)? },
            Self::Remove { file, directory: true } => {
                FileRequest::Remove { file: directory(file)?, directory: true }
            }
            Self::Remove { file, directory: false } => {
                FileRequest::Remove { file: name(&file)?, directory: false }
            }
            Self::Rename { from, to, flags } => {
                FileRequest::Rename { from: name(&from)?, to: name(&to)?, flags }
            }
            Self::SetMode { file, mode } => FileRequest::SetMode { file: target(&file)?, mode },
            Self::SetTimes { file, times, follow } => {
                let file = if follow { target(&file) } else { name(&file) }?;
                FileRequest::SetTimes { file, times, follow }
            }
        })
    }
}

impl FileRequest<ResolvedEntry> {
    /// Returns the change to review. Returns `None` if a symbolic link would lead to a path that
    /// cannot be represented.
    pub(super) fn to_requested_change(&self) -> Option<RequestedChange> {
        let (operation, file, target) = match self {
            Self::Open { file, .. } | Self::Truncate { file, .. } => {
                (FileOperation::Write, file, None)
            }
            Self::MakeDirectory { file, .. } => (FileOperation::MakeDirectory, file, None),
            Self::MakePipe { file, .. } => (FileOperation::MakePipe, file, None),
            Self::MakeSymlink { file, text } => {
                (FileOperation::MakeSymlink, file, Some(link_target(file.path(), text)?))
            }
            Self::Link { from, to } => (FileOperation::Link, from, Some(to.path().clone())),
            Self::Remove { file, .. } => (FileOperation::Remove, file, None),
            Self::Rename { from, to, .. } => (FileOperation::Rename, from, Some(to.path().clone())),
            Self::SetMode { file, .. } => (FileOperation::SetMode, file, None),
            Self::SetTimes { file, .. } => (FileOperation::SetTimes, file, None),
        };
        let mode = match self {
            Self::SetMode { mode, .. } => Some(mode.as_raw_mode()),
            _ => None,
        };
        let changes_content = operation == FileOperation::Write;
        let other_links = if changes_content { file.other_link_count() } else { 0 };
        Some(RequestedChange { operation, path: file.path().clone(), target, mode, other_links })
    }
}

/// Returns the path that a new symbolic link leads to: its real path if it exists.
fn link_target(link: &AbsPath, text: &OsString) -> Option<AbsPath> {
    let joined = Path::new(link.parent()?.as_str()).join(text);
    let path = joined.canonicalize().unwrap_or(joined);
    // `AbsPath` removes `.` and `..`.
    AbsPath::new(path.to_str()?).ok()
}
