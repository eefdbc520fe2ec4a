//! The names in one directory, with the state in which it was listed.

use std::{
    collections::BTreeMap,
    ffi::{CStr, CString, OsStr},
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::Path,
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::{
    fs::{
        AtFlags, FileType, Mode, OFlags, RawDir, Stat, StatxAttributes, StatxFlags, fstat, fstatfs,
        openat, statat, statx,
    },
    io::Errno,
};

use crate::protected_paths::directory_snapshot::DirectoryStamp;

const BUFFER_BYTES: usize = 32 * 1024;

/// The age at which the state of a directory identifies its contents. A later change is then
/// certain to have another time, even if the file system stores only whole seconds.
const MIN_AGE_SECONDS: i64 = 2;

/// File systems of this machine that set the time of a change (`st_ctime`) themselves, and never to
/// a time that a program chooses (statfs(2), linux/magic.h). A file system of another machine may
/// report an old state or use another clock. FUSE reports whatever its program returns.
const LOCAL_FILE_SYSTEMS: [i64; 8] = [
    0x0000_EF53, // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683E, // Btrfs
    0x0102_1994, // tmpfs
    0x794C_7630, // overlayfs
    0xF2F5_2010, // F2FS
    0x2FC1_2FC1, // ZFS
    0xCA45_1A4E, // bcachefs
];

/// An entry of a directory, as a filter sees it.
pub(crate) struct ListedEntry<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) name: &'a OsStr,
    pub(crate) is_directory: bool,
}

/// The contents of a directory.
pub(super) struct ListedDirectory {
    /// The state before the listing, if it identifies these contents.
    pub(super) stamp: Option<DirectoryStamp>,
    /// The relevant names.
    pub(super) names: Vec<CString>,
    /// The names of the directories.
    pub(super) directories: Vec<CString>,
}

/// Lists directories.
pub(super) struct DirectoryLister {
    /// Directories that were changed later than this have no stamp.
    newest_stamp: i64,
    /// Whether the file system of a device is one of [`LOCAL_FILE_SYSTEMS`].
    is_local: BTreeMap<u64, bool>,
    buffer: Vec<MaybeUninit<u8>>,
}

impl DirectoryLister {
    /// `newest_stamp` is usually [`newest_stamp`] at the beginning of the scan.
    pub(super) fn new(newest_stamp: i64) -> Self {
        Self {
            newest_stamp,
            is_local: BTreeMap::new(),
            buffer: vec![MaybeUninit::uninit(); BUFFER_BYTES],
        }
    }

    /// Lists an open directory, which is at this path.
    pub(super) fn list(
        &mut self,
        directory: &OwnedFd,
        path: &Path,
        is_relevant: &dyn Fn(&ListedEntry<'_>) -> bool,
    ) -> Result<ListedDirectory, Errno> {
        let found = fstat(directory)?;
        let (mut names, mut directories) = (Vec::new(), Vec::new());
        let mut entries = RawDir::new(directory, &mut self.buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let is_directory = is_directory(directory, name, entry.file_type());
            if is_directory {
                directories.push(name.to_owned());
            }
            let os_name = OsStr::from_bytes(name.to_bytes());
            if is_relevant(&ListedEntry { directory: path, name: os_name, is_directory }) {
                names.push(name.to_owned());
            }
        }
        let stamp = self.is_reliable(directory, &found).then(|| (&found).into());
        Ok(ListedDirectory { stamp, names, directories })
    }

    /// Returns whether each change of the directory changes its stamp.
    fn is_reliable(&mut self, directory: &OwnedFd, found: &Stat) -> bool {
        let is_local = self.is_local.entry(found.st_dev).or_insert_with(|| {
            fstatfs(directory).is_ok_and(|system| LOCAL_FILE_SYSTEMS.contains(&system.f_type))
        });
        *is_local && found.st_ctime < self.newest_stamp && !is_encrypted(directory)
    }
}

/// Returns the time of the newest change, in seconds, that identifies the contents of a directory
/// that is listed from now on.
pub(super) fn newest_stamp() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    i64::try_from(now).unwrap_or(0).saturating_sub(MIN_AGE_SECONDS)
}

/// Returns whether the names depend on a key. They change without a change of the directory when
/// the key is added (fscrypt).
fn is_encrypted(directory: &OwnedFd) -> bool {
    let found = statx(directory, c"", AtFlags::EMPTY_PATH, StatxFlags::empty());
    found.map_or(true, |found| found.stx_attributes.contains(StatxAttributes::ENCRYPTED))
}

/// Returns whether an entry is a directory. Some file systems do not report the type of an entry in
/// a listing; its metadata is read then.
pub(super) fn is_directory(directory: &OwnedFd, name: &CStr, kind: FileType) -> bool {
    match kind {
        FileType::Unknown => statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory),
        kind => kind == FileType::Directory,
    }
}

/// Opens a directory to list it.
pub(super) fn open_directory(base: &OwnedFd, path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(base, path, flags, Mode::empty())
}
