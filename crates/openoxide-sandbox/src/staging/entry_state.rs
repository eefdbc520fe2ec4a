//! The state of the entry at a path, which is used to detect changes later.

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::ffi::OsStringExt as _,
    thread,
    time::Duration,
};

use rustix::{
    fd::AsFd,
    fs::{AtFlags, FileType, Mode, OFlags, Stat, fstat, openat, readlinkat, statat},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::staging::extended_attributes::{ExtendedAttributes, read_attributes};

/// The interval at which the clock is checked. The clock of a file system advances every few
/// milliseconds.
const TICK_INTERVAL: Duration = Duration::from_millis(1);
const MAX_TICKS: u32 = 50;

/// The state of a file, a symbolic link, a named pipe or a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryState {
    /// The type of the entry.
    pub kind: EntryKind,
    /// The permissions: the lower nine bits of the mode. Bits of set-id programs are never staged.
    pub mode: u32,
    /// The identity and the state of the entry.
    pub(super) stamp: EntryStamp,
    /// The extended attributes of a file or a directory.
    pub(super) attributes: ExtendedAttributes,
}

/// The type of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A file with this size in bytes.
    File(u64),
    /// A symbolic link with its target.
    Link(OsString),
    /// A named pipe.
    Fifo,
}

/// A time by the clock of a file system: seconds, and the fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct FileTime(i64, i64);

/// The identity and the state of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryStamp {
    device: u64,
    inode: u64,
    size: i64,
    mode: u32,
    pub(super) modified: FileTime,
}

impl FileTime {
    /// Returns the current time of the file system of this directory. For that it creates a file
    /// without a name, which disappears immediately.
    fn now(directory: impl AsFd) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(change_time(&fstat(openat(directory, c".", flags, Mode::RUSR)?)?))
    }

    /// Waits until the clock of the file system advances, so that every earlier change has an
    /// earlier time. If that takes too long, more entries are treated as changed.
    pub(super) fn wait_for_tick(directory: impl AsFd) -> io::Result<Self> {
        let first = Self::now(&directory)?;
        for _ in 0..MAX_TICKS {
            let now = Self::now(&directory)?;
            if now > first {
                return Ok(now);
            }
            thread::sleep(TICK_INTERVAL);
        }
        Ok(first)
    }

    pub(super) const fn to_parts(self) -> (i64, i64) {
        (self.0, self.1)
    }
}

/// Returns the time of the last change of an entry or its metadata. No program can set it to a time
/// in the past.
#[expect(clippy::useless_conversion, reason = "the widths are not the same everywhere")]
pub(super) fn change_time(found: &Stat) -> FileTime {
    FileTime(i64::from(found.st_ctime), i64::try_from(found.st_ctime_nsec).unwrap_or(i64::MAX))
}

impl EntryStamp {
    #[expect(clippy::useless_conversion, reason = "the widths are not the same everywhere")]
    pub(super) fn from_stat(found: &Stat) -> Self {
        let nanoseconds = i64::try_from(found.st_mtime_nsec).unwrap_or(i64::MAX);
        Self {
            device: found.st_dev.into(),
            inode: found.st_ino.into(),
            size: found.st_size.into(),
            mode: found.st_mode,
            modified: FileTime(found.st_mtime.into(), nanoseconds),
        }
    }

    /// Reads the state of a name in a directory.
    pub(super) fn read(directory: impl AsFd, name: &OsStr) -> io::Result<Self> {
        Ok(Self::from_stat(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

impl EntryState {
    /// Returns the state of the entry with this name in a directory, or `None` if its type is not
    /// staged.
    pub(super) fn from_stat(
        directory: impl AsFd,
        name: &OsStr,
        found: &Stat,
    ) -> io::Result<Option<Self>> {
        let kind = match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => EntryKind::Directory,
            FileType::RegularFile => EntryKind::File(u64::try_from(found.st_size).unwrap_or(0)),
            FileType::Symlink => {
                let target = readlinkat(&directory, name, Vec::new())?;
                EntryKind::Link(OsString::from_vec(target.into_bytes()))
            }
            FileType::Fifo => EntryKind::Fifo,
            _ => return Ok(None),
        };
        let attributes = match kind {
            EntryKind::Directory | EntryKind::File(_) => read_attributes(directory, name),
            EntryKind::Link(_) | EntryKind::Fifo => Vec::new(),
        };
        let (mode, stamp) = (found.st_mode & 0o777, EntryStamp::from_stat(found));
        Ok(Some(Self { kind, mode, stamp, attributes }))
    }

    /// Returns whether mode, times and extended attributes are equal. The times of directories and
    /// symbolic links, and the modes of links, are not compared.
    #[must_use]
    pub fn has_same_metadata(&self, other: &Self) -> bool {
        let same_mode = self.mode == other.mode || matches!(self.kind, EntryKind::Link(_));
        same_mode && self.has_same_times(other) && self.has_same_attributes(other)
    }

    /// Returns whether the modification times of two files are equal. Other entries have no time
    /// that matters.
    #[must_use]
    pub fn has_same_times(&self, other: &Self) -> bool {
        !matches!(self.kind, EntryKind::File(_)) || self.stamp.modified == other.stamp.modified
    }

    /// Returns whether the extended attributes are equal.
    #[must_use]
    pub fn has_same_attributes(&self, other: &Self) -> bool {
        self.attributes == other.attributes
    }

    /// Returns the size of a file. Other entries have none.
    #[must_use]
    pub const fn size(&self) -> u64 {
        match self.kind {
            EntryKind::File(bytes) => bytes,
            EntryKind::Directory | EntryKind::Link(_) | EntryKind::Fifo => 0,
        }
    }

    /// Returns whether this is a file.
    pub(super) const fn is_file(&self) -> bool {
        matches!(self.kind, EntryKind::File(_))
    }

    /// Returns whether this is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind == EntryKind::Directory
    }

    /// Returns whether this is the same entry in the same state. For a directory, only the identity
    /// is compared.
    pub(super) fn is_unchanged(&self, seen: &EntryStamp) -> bool {
        match self.kind {
            EntryKind::Directory => {
                (self.stamp.device, self.stamp.inode) == (seen.device, seen.inode)
            }
            EntryKind::File(_) | EntryKind::Link(_) | EntryKind::Fifo => self.stamp == *seen,
        }
    }
}

/// Returns the metadata of the entry with this name in a directory, or `None` if there is none.
pub(super) fn stat_entry(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        found => Ok(Some(found?)),
    }
}
