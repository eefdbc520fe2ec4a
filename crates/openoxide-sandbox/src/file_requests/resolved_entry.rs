//! A name in a directory of the host, resolved from the view of a confined process.
//!
//! Inside the sandbox, files are mounted at their own paths. So the host and the sandbox use the
//! same path for a file once no link is left in it. It is the same file only if it has the same
//! device and inode number. A file without a match (in the private temporary directories, or a
//! mount that hides something) does not belong to the host.

use std::{
    ffi::OsStr,
    fs,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{
        Access, CWD, FileType, Mode, OFlags, ResolveFlags, Stat, StatVfsMountFlags, access, fstat,
        fstatvfs, openat, openat2,
    },
    io::Errno,
};

use crate::{
    file_requests::requested_path::RequestedPath,
    seccomp::{PendingSyscall, descriptor_path},
};

/// The identity of a file: its device and its inode number.
pub(super) type InodeId = (u64, u64);

/// A name, its directory, and the file at that name. Both are kept open, and all operations use
/// these descriptors.
#[derive(Debug)]
pub(crate) struct ResolvedEntry {
    directory: OwnedFd,
    path: AbsPath,
    file: Option<OwnedFd>,
}

const PATH_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

impl ResolvedEntry {
    /// Resolves the file that a path leads to. A link at the end is followed, too.
    pub(super) fn resolve_target(call: &PendingSyscall<'_>, name: &RequestedPath) -> Option<Self> {
        match call.open_in_root(&name.path, OFlags::empty()) {
            Ok(file) if is_mounted_read_only(&file) => {
                let path = real_path(&file)?;
                Self::open_on_host(&path)?.verify_identity(None, Some(&file))
            }
            // A write through a dangling link creates the target of the link. This is not reviewed.
            Err(Errno::NOENT) => Self::resolve_name(call, name).filter(|spot| !spot.exists()),
            _ => None,
        }
    }

    /// Resolves the last name of a path itself. A link at the end is not followed.
    pub(super) fn resolve_name(call: &PendingSyscall<'_>, name: &RequestedPath) -> Option<Self> {
        let (above, last) = (name.path.parent()?, name.path.file_name()?);
        // `Path` ignores dots and slashes at the end. A caller that writes them expects a
        // directory, or an error.
        if !name.path.as_os_str().as_bytes().ends_with(last.as_bytes()) {
            return None;
        }
        let directory = call.open_in_root(above, OFlags::DIRECTORY).ok()?;
        if !is_mounted_read_only(&directory) {
            return None;
        }
        let file = open_entry(&directory, last).ok()?;
        Self::open_on_host(&real_path(&directory)?.join(last))?
            .verify_identity(Some(&directory), file.as_ref())
    }

    /// Opens a path on the host. Links are not followed, because the path does not contain any.
    fn open_on_host(path: &Path) -> Option<Self> {
        let path =
            AbsPath::new(path.to_str()?).ok().filter(|same| Path::new(same.as_str()) == path)?;
        let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let above = path.parent()?;
        let flags = PATH_FLAGS | OFlags::DIRECTORY;
        let directory = openat2(CWD, above.as_str(), flags, Mode::empty(), straight).ok()?;
        let file = open_entry(&directory, OsStr::new(path.file_name()?)).ok()?;
        Some(Self { directory, path, file })
    }

    /// Returns the entry if it is the one that was seen inside the sandbox.
    fn verify_identity(self, directory: Option<&OwnedFd>, file: Option<&OwnedFd>) -> Option<Self> {
        let named = directory.is_none_or(|seen| is_same_file(seen, &self.directory));
        let same = match (file, &self.file) {
            (Some(seen), Some(file)) => is_same_file(seen, file),
            (None, None) => true,
            _ => false,
        };
        (named && same).then_some(self)
    }

    pub(super) const fn path(&self) -> &AbsPath {
        &self.path
    }

    pub(super) fn name(&self) -> &str {
        self.path.file_name().unwrap_or_default()
    }

    pub(super) const fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    pub(super) const fn file(&self) -> Option<&OwnedFd> {
        self.file.as_ref()
    }

    pub(super) const fn exists(&self) -> bool {
        self.file.is_some()
    }

    /// Returns the current metadata of the file.
    pub(super) fn stat(&self) -> Option<Result<Stat, Errno>> {
        self.file.as_ref().map(fstat)
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.stat(), Some(Ok(found)) if file_type(&found) == FileType::Directory)
    }

    /// Returns the number of other names of the file.
    pub(super) fn other_link_count(&self) -> u64 {
        let found = self.file.as_ref().and_then(|file| fs::metadata(descriptor_path(file)).ok());
        found.map_or(0, |found| found.nlink().saturating_sub(1))
    }

    /// Returns the owner of the directory.
    pub(super) fn directory_owner(&self) -> Option<u32> {
        fstat(&self.directory).ok().map(|found| found.st_uid)
    }

    /// Returns whether this process may write the file.
    pub(super) fn is_writable(&self) -> bool {
        self.file.as_ref().is_some_and(|file| has_access(file, Access::WRITE_OK))
    }

    /// Returns whether this process may create and remove names in the directory.
    pub(super) fn is_directory_writable(&self) -> bool {
        has_access(&self.directory, Access::WRITE_OK | Access::EXEC_OK)
    }

    /// Returns the identities of the entry and of the directories above it, up to the root.
    pub(super) fn ancestor_ids(&self) -> impl Iterator<Item = InodeId> {
        let above = std::iter::successors(Some(self.path.clone()), AbsPath::parent);
        above.filter_map(|place| file_id_at(&place))
    }

    /// Returns whether the name still refers to the file that was resolved.
    pub(super) fn is_unchanged(&self) -> bool {
        match (open_entry(&self.directory, OsStr::new(self.name())), &self.file) {
            (Ok(Some(now)), Some(file)) => is_same_file(&now, file),
            (Ok(None), None) => true,
            _ => false,
        }
    }
}

/// Returns the identity of the file at a path of the host.
pub(super) fn file_id_at(place: &AbsPath) -> Option<InodeId> {
    let found = fs::symlink_metadata(place.as_str()).ok()?;
    Some((found.dev(), found.ino()))
}

pub(super) const fn file_id(found: &Stat) -> InodeId {
    (found.st_dev, found.st_ino)
}

/// Returns whether this is a regular file that runs with the rights of the user who starts it.
pub(super) fn is_plain_file(found: &Stat) -> bool {
    file_type(found) == FileType::RegularFile && found.st_mode & 0o6000 == 0
}

fn file_type(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Opens the entry at a name without following a link. Returns `None` if there is no entry.
pub(super) fn open_entry(directory: &OwnedFd, name: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    match openat(directory, name, PATH_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        file => file.map(Some),
    }
}

/// Returns whether the file is on a read-only mount.
fn is_mounted_read_only(seen: &OwnedFd) -> bool {
    fstatvfs(seen).is_ok_and(|of| of.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn is_same_file(one: &OwnedFd, other: &OwnedFd) -> bool {
    let identity = |file| fstat(file).map(|found| file_id(&found));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// Returns the path of an open file from its root.
fn real_path(file: &OwnedFd) -> Option<PathBuf> {
    fs::read_link(descriptor_path(file)).ok()
}

fn has_access(file: &OwnedFd, wanted: Access) -> bool {
    !is_mounted_read_only(file) && access(descriptor_path(file), wanted).is_ok()
}
