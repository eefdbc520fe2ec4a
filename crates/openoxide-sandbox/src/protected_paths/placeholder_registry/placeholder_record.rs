//! One run's file in the registry: which placeholders it uses.

use std::{
    ffi::OsString,
    fs::{File, Metadata},
    io::{self, Read as _},
    os::{
        fd::OwnedFd,
        unix::{
            ffi::{OsStrExt as _, OsStringExt as _},
            fs::MetadataExt as _,
        },
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags, Stat, chmodat, unlinkat},
    io::Errno,
};

use crate::protected_paths::temporary_permissions::with_access;

/// The modes of placeholders, without write permission. Entries with other modes are not treated as
/// placeholders.
pub(super) const DIRECTORY_MODE: u32 = 0o555;
pub(super) const FILE_MODE: u32 = 0o444;

/// The longest text that is put into a placeholder.
const MAX_TEXT_BYTES: u64 = 2;

/// No run has more to write down.
const MAX_ENTRY_BYTES: u64 = 1 << 22;

/// One placeholder: where it is, and which file it is once it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlaceholderRecord {
    pub(super) path: PathBuf,
    file_id: Option<(u64, u64)>,
}

/// Reads what a run has written down. What it was writing when it was killed, it had not done yet.
pub(super) fn read_records(entry: &Path) -> Vec<PlaceholderRecord> {
    let mut bytes = Vec::new();
    let read =
        File::open(entry).and_then(|file| file.take(MAX_ENTRY_BYTES).read_to_end(&mut bytes));
    let lines =
        bytes.split_inclusive(|byte| *byte == 0).filter_map(|line| line.strip_suffix(b"\0"));
    read.map_or_else(|_| Vec::new(), |_| lines.filter_map(PlaceholderRecord::parse).collect())
}

/// Returns whether this metadata matches a placeholder.
pub(super) fn is_placeholder_metadata(found: &Metadata) -> bool {
    let (directory, file) = (found.is_dir(), found.is_file() && found.len() <= MAX_TEXT_BYTES);
    (directory && matches_mode(found.mode(), DIRECTORY_MODE))
        || (file && matches_mode(found.mode(), FILE_MODE))
}

/// The mask of the process may have taken something away; a directory has the group's bit from the one above.
fn matches_mode(found: u32, made: u32) -> bool {
    found & 0o5777 & !made == 0
}

impl PlaceholderRecord {
    pub(super) fn from_path(path: &Path) -> Self {
        Self { path: path.to_owned(), file_id: None }
    }

    pub(super) fn from_existing(path: &Path) -> io::Result<Self> {
        let found = path.symlink_metadata()?;
        Ok(Self { path: path.to_owned(), file_id: Some((found.dev(), found.ino())) })
    }

    /// `DEVICE INODE PATH`, or `- - PATH` before it was made.
    pub(super) fn to_line(&self) -> Vec<u8> {
        let number =
            |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let (device, inode) = (self.file_id.map(|made| made.0), self.file_id.map(|made| made.1));
        let mut line = format!("{} {} ", number(device), number(inode)).into_bytes();
        line.extend(self.path.as_os_str().as_bytes());
        line.push(0);
        line
    }

    fn parse(line: &[u8]) -> Option<Self> {
        let mut parts = line.splitn(3, |byte| *byte == b' ');
        let mut number = || std::str::from_utf8(parts.next()?).ok().map(str::parse);
        let (device, inode) = (number()?, number()?);
        let path = PathBuf::from(OsString::from_vec(parts.next()?.to_vec()));
        path.is_absolute().then(|| Self { path, file_id: device.ok().zip(inode.ok()) })
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
            // Another program has put something in: it keeps the directory.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                chmodat(&parent, name, Mode::from_raw_mode(0o755), AtFlags::empty())
            }
            removed => removed,
        }
    }

    /// Opens the directory of the placeholder without following a symbolic link: one may have been
    /// created since.
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
        let same = self.file_id.is_none_or(|made| made == (found.st_dev, found.st_ino));
        let own = found.st_uid == effective_uid();
        Ok(same && own && is_placeholder_stat(&found))
    }
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
