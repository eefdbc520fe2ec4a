//! Execution of approved changes, on the resolved entries and not on their paths. A file that was
//! replaced in the meantime is detected.

use std::{ffi::OsStr, os::fd::OwnedFd};

use rustix::{
    fs::{
        AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, chmod, fstat, ftruncate, linkat,
        mkdirat, mknodat, open as open_path, openat, renameat_with, symlinkat, unlinkat, utimensat,
    },
    io::Errno,
};

use crate::{
    file_requests::{
        file_request::FileRequest,
        resolved_entry::{ResolvedEntry, open_entry},
    },
    seccomp::descriptor_path,
};

/// The flags that an open file keeps, and the flags of open(2) that change it.
const KEPT: OFlags = OFlags::RDWR
    .union(OFlags::WRONLY)
    .union(OFlags::APPEND)
    .union(OFlags::TRUNC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::SYNC)
    .union(OFlags::DSYNC)
    .union(OFlags::DIRECT)
    .union(OFlags::NOATIME);

/// Opens the file, or creates it. If another call has created it in the meantime, it is opened only
/// if it is `fine` and has no other name.
pub(super) fn open_file(
    spot: &ResolvedEntry,
    flags: OFlags,
    mode: Mode,
    fine: impl Fn(&Stat) -> bool,
) -> Result<OwnedFd, Errno> {
    if let Some(file) = spot.file() {
        return reopen_file(file, flags);
    }
    let new = (flags & KEPT) | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(spot.directory(), spot.name(), new, mode) {
        Err(Errno::EXIST) if !flags.contains(OFlags::EXCL) => {
            let file =
                open_entry(spot.directory(), OsStr::new(spot.name()))?.ok_or(Errno::NOENT)?;
            let found = fstat(&file)?;
            let alone = fine(&found) && found.st_nlink == 1;
            if alone { reopen_file(&file, flags) } else { Err(Errno::ACCESS) }
        }
        made => made,
    }
}

/// Opens a file again that is only open with `O_PATH`.
fn reopen_file(file: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = (flags & KEPT) | OFlags::CLOEXEC | OFlags::NOCTTY;
    open_path(descriptor_path(file), flags, Mode::empty())
}

/// Performs a request that does not return an open file.
pub(super) fn perform(request: &FileRequest<ResolvedEntry>) -> Result<(), Errno> {
    match request {
        // The handler opens files, with its own checks.
        FileRequest::Open { .. } => Err(Errno::INVAL),
        FileRequest::Truncate { file, length } => {
            ftruncate(reopen_file(opened(file)?, OFlags::WRONLY)?, *length)
        }
        FileRequest::MakeDirectory { file, mode } => mkdirat(file.directory(), file.name(), *mode),
        FileRequest::MakePipe { file, mode } => {
            mknodat(file.directory(), file.name(), FileType::Fifo, *mode, 0)
        }
        FileRequest::MakeSymlink { file, text } => symlinkat(text, file.directory(), file.name()),
        FileRequest::Link { from, to } => link(from, to),
        FileRequest::Remove { file, directory } => remove(file, *directory),
        FileRequest::Rename { from, to, flags } => rename(from, to, *flags),
        // Without the bits that run a file as another user.
        FileRequest::SetMode { file, mode } => {
            chmod(descriptor_path(opened(file)?), *mode & Mode::from_raw_mode(0o1777))
        }
        FileRequest::SetTimes { file, times, .. } => {
            utimensat(CWD, descriptor_path(opened(file)?), times, AtFlags::empty())
        }
    }
}

/// Returns the file that was checked, whatever its name refers to now.
fn opened(spot: &ResolvedEntry) -> Result<&OwnedFd, Errno> {
    spot.file().ok_or(Errno::NOENT)
}

/// Creates another name for the file that was checked.
fn link(from: &ResolvedEntry, to: &ResolvedEntry) -> Result<(), Errno> {
    check_unchanged(from)?;
    let file = descriptor_path(opened(from)?);
    linkat(CWD, file, to.directory(), to.name(), AtFlags::SYMLINK_FOLLOW)
}

fn remove(spot: &ResolvedEntry, directory: bool) -> Result<(), Errno> {
    let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    check_unchanged(spot)?;
    unlinkat(spot.directory(), spot.name(), flags)
}

fn rename(from: &ResolvedEntry, to: &ResolvedEntry, flags: RenameFlags) -> Result<(), Errno> {
    check_unchanged(from)?;
    check_unchanged(to)?;
    renameat_with(from.directory(), from.name(), to.directory(), to.name(), flags)
}

/// Returns an error if the entry was replaced since it was resolved: it is not the approved one.
fn check_unchanged(spot: &ResolvedEntry) -> Result<(), Errno> {
    spot.is_unchanged().then_some(()).ok_or(Errno::ACCESS)
}
