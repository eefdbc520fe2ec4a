//! One name, with its staged entry and its entry of the host.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Stat, fgetxattr},
    io::Errno,
};

use crate::staging::{
    entry_state::{EntryKind, EntryState, stat_entry},
    staging_area::StagedRoot,
    tree::{self, TreeOwner},
};

/// A staged directory, and the corresponding directory of the host.
pub(super) struct DirectoryPair {
    pub(super) upper: OwnedFd,
    pub(super) lower: Option<OwnedFd>,
    /// True if nothing of the lower directory is visible in the upper one.
    pub(super) opaque: bool,
    /// True if another process has changed the names in the lower directory.
    pub(super) changed_by_others: bool,
}

impl DirectoryPair {
    /// Creates a pair of directories. A directory in an opaque directory is opaque, too.
    pub(super) fn new(upper: OwnedFd, lower: Option<OwnedFd>, opaque: bool) -> io::Result<Self> {
        let opaque = opaque || is_opaque(&upper)?;
        Ok(Self { upper, lower, opaque, changed_by_others: false })
    }
}

/// A name in a pair of directories.
pub(super) struct ComparedEntry<'a> {
    pub(super) directories: &'a DirectoryPair,
    pub(super) name: &'a OsStr,
    /// The path relative to the writable directory.
    pub(super) relative_path: PathBuf,
    /// The current metadata of the host's entry, if there is one.
    pub(super) host_stat: Option<Stat>,
}

impl<'a> ComparedEntry<'a> {
    pub(super) fn new(both: &'a DirectoryPair, within: &Path, name: &'a OsStr) -> io::Result<Self> {
        let now = both.lower.as_ref().map(|lower| stat_entry(lower, name)).transpose()?.flatten();
        Ok(Self { directories: both, name, relative_path: within.join(name), host_stat: now })
    }

    pub(super) fn host_entry(&self) -> io::Result<Option<EntryState>> {
        match (&self.directories.lower, &self.host_stat) {
            (Some(lower), Some(now)) => EntryState::from_stat(lower, self.name, now),
            _ => Ok(None),
        }
    }

    /// Returns the host's directory with this name, or `None` if it has no directory there.
    pub(super) fn lower_directory(&self) -> io::Result<Option<OwnedFd>> {
        match (&self.directories.lower, &self.host_stat) {
            (Some(lower), Some(now)) if file_type(now) == FileType::Directory => {
                tree::open_directory(TreeOwner::Host, lower, Path::new(self.name)).map(Some)
            }
            _ => Ok(None),
        }
    }
}

pub(super) fn file_type(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Returns whether two files have the same content, or two links the same target, or both entries
/// are named pipes. A file that cannot be read is treated as different.
pub(super) fn has_same_content(
    root: &StagedRoot,
    rest: &Path,
    before: &EntryState,
    after: &EntryState,
) -> bool {
    match (&before.kind, &after.kind) {
        (EntryKind::File(old), EntryKind::File(new)) if old == new => {
            let old = tree::open_file(TreeOwner::Host, &root.directory, rest);
            let new = tree::open_file(TreeOwner::Staged, &root.upper, rest);
            old.and_then(|old| is_same_content(old, new?)).unwrap_or(false)
        }
        (old, new) => matches!(old, EntryKind::Link(_) | EntryKind::Fifo) && old == new,
    }
}

fn is_same_content(mut a: File, mut b: File) -> io::Result<bool> {
    loop {
        let (mut left, mut right) = (Vec::new(), Vec::new());
        (&mut a).take(1 << 16).read_to_end(&mut left)?;
        (&mut b).take(1 << 16).read_to_end(&mut right)?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}

/// Returns whether entries of this type are staged.
pub(super) fn is_staged_type(found: &Stat) -> bool {
    let staged = [FileType::Directory, FileType::RegularFile, FileType::Symlink, FileType::Fifo];
    staged.contains(&file_type(found))
}

/// Returns whether this is a whiteout: the device that an overlay creates where an entry of the
/// lower directory was removed. No program can create one in an overlay.
pub(super) fn is_whiteout(found: &Stat) -> bool {
    file_type(found) == FileType::CharacterDevice && found.st_rdev == 0
}

/// Returns whether nothing of the lower directory is visible in this one.
fn is_opaque(directory: &OwnedFd) -> io::Result<bool> {
    let mut value = [0_u8; 8];
    match fgetxattr(directory, c"user.overlay.opaque", &mut value[..]) {
        Ok(length) => Ok(value.get(..length) == Some(b"y")),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
