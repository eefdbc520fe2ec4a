//! The entry of one run in the registry, with the placeholders that it uses.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _},
    os::{
        fd::{AsRawFd as _, OwnedFd},
        unix::{
            ffi::{OsStrExt as _, OsStringExt as _},
            fs::MetadataExt as _,
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, unlinkat},
    io::Errno,
};

use crate::protected_paths::temporary_permissions::with_access;

/// The modes with which placeholders are created. Other files do not usually have these modes, so
/// placeholders are recognized before their identity is recorded.
pub(super) const DIRECTORY_MODE: u32 = 0o555;
pub(super) const FILE_MODE: u32 = 0o444;

/// The final modes of placeholders on the host. Programs of the host can use them like their own
/// files. Inside, a read-only mount covers them.
const SHARED_DIRECTORY_MODE: u32 = 0o755;
const SHARED_FILE_MODE: u32 = 0o644;

/// The maximum length of the text of a placeholder.
const MAX_TEXT_BYTES: u64 = 2;

/// The texts that placeholders can contain.
const TEXTS: [&str; 3] = ["", "{}", ".\n"];

/// The maximum size of an entry. No run records more.
const MAX_ENTRY_BYTES: u64 = 1 << 22;

/// The record of one placeholder: its path, and its identity after it was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlaceholderRecord {
    pub(super) path: PathBuf,
    file_id: Option<FileId>,
}

/// The identity and the state of a placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FileId {
    device: u64,
    inode: u64,
    /// The time of the last change (`st_ctime`), in seconds and nanoseconds, when the placeholder was
    /// complete. No program can set it.
    completed: Option<(i64, i64)>,
}

/// Reads the records of a run, the last one for each path. A step that was being recorded when the
/// run was killed had not been made yet.
pub(super) fn read_records(entry: &Path) -> Vec<PlaceholderRecord> {
    let mut bytes = Vec::new();
    let read =
        File::open(entry).and_then(|file| file.take(MAX_ENTRY_BYTES).read_to_end(&mut bytes));
    let lines =
        bytes.split_inclusive(|byte| *byte == 0).filter_map(|line| line.strip_suffix(b"\0"));
    let records = lines.filter_map(PlaceholderRecord::parse);
    let records = records.map(|record| (record.path.clone(), record));
    let last: BTreeMap<_, _> = if read.is_ok() { records.collect() } else { BTreeMap::new() };
    last.into_values().collect()
}

/// Returns whether a placeholder may be at this path: an empty directory or a short file of this
/// user with the mode of a placeholder, or nothing at all.
pub(crate) fn may_be_placeholder(path: &Path) -> bool {
    let Ok(found) = path.symlink_metadata() else { return true };
    let is_own = found.uid() == effective_uid();
    let is_short = found.is_file() && found.len() <= MAX_TEXT_BYTES;
    // A directory that cannot be listed may be a placeholder of a run whose umask was strict.
    let is_empty = || fs::read_dir(path).map_or(true, |mut names| names.next().is_none());
    is_own
        && (found.is_dir() && matches_mode(found.mode(), SHARED_DIRECTORY_MODE) && is_empty()
            || is_short && matches_mode(found.mode(), SHARED_FILE_MODE))
}

/// Returns whether the mode of a file matches that of a placeholder. The umask may have removed
/// bits, and a directory inherits the group's bit from its parent.
fn matches_mode(found: u32, made: u32) -> bool {
    found & 0o5777 & !made == 0
}

impl PlaceholderRecord {
    pub(super) fn from_path(path: &Path) -> Self {
        Self { path: path.to_owned(), file_id: None }
    }

    /// Returns the record of a placeholder that was just created.
    pub(super) fn from_created(path: &Path) -> io::Result<Self> {
        let found = path.symlink_metadata()?;
        let id = FileId { device: found.dev(), inode: found.ino(), completed: None };
        Ok(Self { path: path.to_owned(), file_id: Some(id) })
    }

    /// Gives the user write permission for a placeholder that was just created, and returns the record
    /// of the complete placeholder. If another file is there now, the record stays the same.
    pub(super) fn complete(self) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = rustix::fs::open(&self.path, flags, Mode::empty())?;
        let found = rustix::fs::fstat(&opened)?;
        let Some(id) = self.file_id.filter(|id| id.is_same(&found)) else { return Ok(self) };
        let mode = Mode::from_raw_mode(found.st_mode & 0o777) | Mode::WUSR;
        rustix::fs::chmod(format!("/proc/self/fd/{}", opened.as_raw_fd()), mode)?;
        let completed = change_time(&rustix::fs::fstat(&opened)?);
        Ok(Self { file_id: Some(FileId { completed, ..id }), ..self })
    }

    /// Formats the record as `DEVICE INODE SECONDS NANOSECONDS PATH`, with `-` for unknown values.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let text = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
        let (id, completed) = (self.file_id, self.file_id.and_then(|id| id.completed));
        let mut line = [
            text(id.map(|id| id.device.to_string())),
            text(id.map(|id| id.inode.to_string())),
            text(completed.map(|time| time.0.to_string())),
            text(completed.map(|time| time.1.to_string())),
            String::new(),
        ]
        .join(" ")
        .into_bytes();
        line.extend(self.path.as_os_str().as_bytes());
        line.push(0);
        line
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let mut parts = line.splitn(5, |byte| *byte == b' ');
        let mut numbers = [None; 4];
        for number in &mut numbers {
            *number = std::str::from_utf8(parts.next()?).ok()?.parse::<i64>().ok();
        }
        let path = PathBuf::from(OsString::from_vec(parts.next()?.to_vec()));
        path.is_absolute().then(|| Self { path, file_id: FileId::from_numbers(numbers) })
    }

    /// Returns whether the placeholder is still there.
    pub(super) fn is_present(&self) -> bool {
        self.open_parent()
            .and_then(|(parent, name)| self.is_unchanged_in(&parent, name))
            .unwrap_or(false)
    }

    /// Removes the placeholder, if it is unchanged and still empty. Returns whether nothing is left
    /// to do. A directory of this user that denies access is made accessible in the meantime.
    pub(super) fn remove(&self) -> bool {
        match with_access(&self.path, || self.try_remove()) {
            Ok(()) => true,
            Err(error) => matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
        }
    }

    fn try_remove(&self) -> Result<(), Errno> {
        let (parent, name) = self.open_parent()?;
        match self.is_unchanged_in(&parent, name) {
            Ok(true) => {}
            Err(error @ Errno::ACCESS) => return Err(error),
            Ok(false) | Err(_) => return Ok(()),
        }
        match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTDIR) => unlinkat(&parent, name, AtFlags::empty()),
            // Another program has created an entry in the directory, so the directory stays.
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(()),
            removed => removed,
        }
    }

    /// Opens the directory of the placeholder without following a symbolic link, because one may
    /// have been created in the meantime.
    fn open_parent(&self) -> Result<(OwnedFd, &Path), Errno> {
        let (Some(parent), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Err(Errno::NOENT);
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let opened = rustix::fs::openat2(
            rustix::fs::CWD,
            parent,
            flags,
            Mode::empty(),
            ResolveFlags::NO_SYMLINKS,
        );
        Ok((opened?, Path::new(name)))
    }

    fn is_unchanged_in(&self, parent: &OwnedFd, name: &Path) -> Result<bool, Errno> {
        let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let is_like_one = match self.file_id {
            Some(made) => made.is_same(&found) && has_shared_mode(&found),
            None => is_placeholder_stat(&found),
        };
        if found.st_uid != effective_uid() || !is_like_one {
            return Ok(false);
        }
        let is_directory = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
        match self.file_id.and_then(|id| id.completed) {
            // The inode number of a removed file is used again, but the time is not.
            Some(completed) => Ok(change_time(&found) == Some(completed)),
            None => Ok(is_directory || has_placeholder_text(parent, name)?),
        }
    }
}

impl FileId {
    fn from_numbers(numbers: [Option<i64>; 4]) -> Option<Self> {
        let [device, inode, seconds, nanoseconds] = numbers;
        Some(Self {
            device: device?.cast_unsigned(),
            inode: inode?.cast_unsigned(),
            completed: seconds.zip(nanoseconds),
        })
    }

    fn is_same(self, found: &Stat) -> bool {
        (self.device, self.inode) == (found.st_dev, found.st_ino)
    }
}

/// Returns the time of the last change (`st_ctime`).
#[expect(clippy::useless_conversion, reason = "the widths are not the same everywhere")]
fn change_time(found: &Stat) -> Option<(i64, i64)> {
    Some((i64::try_from(found.st_ctime).ok()?, i64::try_from(found.st_ctime_nsec).ok()?))
}

/// Returns whether this is a directory or a file with the mode of a placeholder on the host.
fn has_shared_mode(found: &Stat) -> bool {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => matches_mode(found.st_mode, SHARED_DIRECTORY_MODE),
        FileType::RegularFile => {
            matches_mode(found.st_mode, SHARED_FILE_MODE) && found.st_nlink == 1
        }
        _ => false,
    }
}

/// Returns whether a file contains the text of a placeholder.
fn has_placeholder_text(parent: &OwnedFd, name: &Path) -> Result<bool, Errno> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(parent, name, flags, Mode::empty())?);
    let mut text = Vec::new();
    let read = file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut text);
    Ok(read.is_ok() && TEXTS.iter().any(|one| one.as_bytes() == text))
}

/// Returns whether this metadata matches a placeholder.
pub(crate) fn is_placeholder_stat(found: &Stat) -> bool {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => matches_mode(found.st_mode, DIRECTORY_MODE),
        FileType::RegularFile => {
            let small = u64::try_from(found.st_size).is_ok_and(|size| size <= MAX_TEXT_BYTES);
            matches_mode(found.st_mode, FILE_MODE) && small && found.st_nlink == 1
        }
        _ => false,
    }
}

/// Returns the user that this process acts as.
pub(super) fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}
