//! What lies at a path, so that it can be told later whether that is still there.

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

/// The clock of a file system goes on every few milliseconds.
const TICK: Duration = Duration::from_millis(1);
const TICKS: u32 = 50;

/// A file, a symbolic link or a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// What it is.
    pub kind: Kind,
    /// Who may do what with it: the lower nine bits. Those for set-id programs are nobody's to stage.
    pub mode: u32,
    /// Which one it is, and in which state.
    pub(super) seen: Seen,
}

/// What something is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory.
    Directory,
    /// A file of so many bytes.
    File(u64),
    /// A symbolic link, and where it leads.
    Link(OsString),
}

/// A moment by the clock of a file system: seconds, and the rest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(i64, i64);

/// Which file something is, and in which state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    device: u64,
    inode: u64,
    size: i64,
    mode: u32,
    pub(super) modified: Moment,
}

impl Moment {
    /// Asks the file system on which this directory lies, by a file that has no name and is gone at once.
    fn now(directory: impl AsFd) -> io::Result<Self> {
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        Ok(changed(&fstat(openat(directory, c".", flags, Mode::RUSR)?)?))
    }

    /// Waits until its clock goes on, so that what was changed before this was changed at an earlier time. Where that takes too long, more is
    /// taken to be changed since.
    pub(super) fn next(directory: impl AsFd) -> io::Result<Self> {
        let first = Self::now(&directory)?;
        for _ in 0..TICKS {
            let now = Self::now(&directory)?;
            if now > first {
                return Ok(now);
            }
            thread::sleep(TICK);
        }
        Ok(first)
    }

    pub(super) const fn parts(self) -> (i64, i64) {
        (self.0, self.1)
    }
}

/// When anything about it was last changed. No program can set that to a time that has passed.
#[expect(clippy::useless_conversion, reason = "the widths are not the same everywhere")]
pub(super) fn changed(found: &Stat) -> Moment {
    Moment(i64::from(found.st_ctime), i64::try_from(found.st_ctime_nsec).unwrap_or(i64::MAX))
}

impl Seen {
    #[expect(clippy::useless_conversion, reason = "the widths are not the same everywhere")]
    pub(super) fn of(found: &Stat) -> Self {
        let nanoseconds = i64::try_from(found.st_mtime_nsec).unwrap_or(i64::MAX);
        Self {
            device: found.st_dev.into(),
            inode: found.st_ino.into(),
            size: found.st_size.into(),
            mode: found.st_mode,
            modified: Moment(found.st_mtime.into(), nanoseconds),
        }
    }

    /// Looks at a name in a directory.
    pub(super) fn at(directory: impl AsFd, name: &OsStr) -> io::Result<Self> {
        Ok(Self::of(&statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }
}

impl Thing {
    /// What this is that has this name in a directory; none if it is anything else than what is staged.
    pub(super) fn of(directory: impl AsFd, name: &OsStr, found: &Stat) -> io::Result<Option<Self>> {
        let kind = match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Kind::Directory,
            FileType::RegularFile => Kind::File(u64::try_from(found.st_size).unwrap_or(0)),
            FileType::Symlink => {
                let target = readlinkat(directory, name, Vec::new())?;
                Kind::Link(OsString::from_vec(target.into_bytes()))
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { kind, mode: found.st_mode & 0o777, seen: Seen::of(found) }))
    }

    /// Says whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        self.kind == Kind::Directory
    }

    /// Says whether it is the same one in the same state. What lies in a directory is another matter.
    pub(super) fn is_still(&self, seen: &Seen) -> bool {
        match self.kind {
            Kind::Directory => (self.seen.device, self.seen.inode) == (seen.device, seen.inode),
            Kind::File(_) | Kind::Link(_) => self.seen == *seen,
        }
    }
}

/// What has this name in a directory, if anything has.
pub(super) fn look(directory: impl AsFd, name: &OsStr) -> io::Result<Option<Stat>> {
    match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(None),
        found => Ok(Some(found?)),
    }
}
