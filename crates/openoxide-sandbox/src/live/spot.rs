//! A name in a directory of the host, found through what a confined process sees.
//!
//! Inside, everything is mounted in its place, so both call a file by the same path once no link is left in it; and it is the same
//! file only if it has the same device and number. What has not (the private temporary directories, what hides something) is
//! nothing of the host's.

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

use super::wish::Name;
use crate::notify::{Call, name_of};

/// What a file is known by: its device and its number.
pub(super) type Identity = (u64, u64);

/// A name, the directory in which it stands, and what stands there. Both are held open, and what is done is done with these.
#[derive(Debug)]
pub(crate) struct Spot {
    directory: OwnedFd,
    path: AbsPath,
    file: Option<OwnedFd>,
}

const PLACE: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

impl Spot {
    /// Finds the file that a path leads to, through a link at its end, too.
    pub(super) fn meant(call: &Call<'_>, name: &Name) -> Option<Self> {
        match call.look_at(&name.path, OFlags::empty()) {
            Ok(file) if is_held(&file) => {
                let path = real(&file)?;
                Self::outside(&path)?.same(None, Some(&file))
            }
            // A link that leads to nothing makes what it leads to. Nobody is asked about that.
            Err(Errno::NOENT) => Self::named(call, name).filter(|spot| !spot.is_there()),
            _ => None,
        }
    }

    /// Finds the name itself that a path ends with.
    pub(super) fn named(call: &Call<'_>, name: &Name) -> Option<Self> {
        let (above, last) = (name.path.parent()?, name.path.file_name()?);
        // `Path` passes over dots and slashes at the end; who writes them wants a directory, or an error.
        if !name.path.as_os_str().as_bytes().ends_with(last.as_bytes()) {
            return None;
        }
        let directory = call.look_at(above, OFlags::DIRECTORY).ok()?;
        if !is_held(&directory) {
            return None;
        }
        let file = look(&directory, last).ok()?;
        Self::outside(&real(&directory)?.join(last))?.same(Some(&directory), file.as_ref())
    }

    /// Finds a path on the host. No link is followed: there was none left.
    fn outside(path: &Path) -> Option<Self> {
        let path =
            AbsPath::new(path.to_str()?).ok().filter(|same| Path::new(same.as_str()) == path)?;
        let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let above = path.parent()?;
        let flags = PLACE | OFlags::DIRECTORY;
        let directory = openat2(CWD, above.as_str(), flags, Mode::empty(), straight).ok()?;
        let file = look(&directory, OsStr::new(path.name()?)).ok()?;
        Some(Self { directory, path, file })
    }

    /// Returns it if it is what was seen inside.
    fn same(self, directory: Option<&OwnedFd>, file: Option<&OwnedFd>) -> Option<Self> {
        let named = directory.is_none_or(|seen| is_same(seen, &self.directory));
        let same = match (file, &self.file) {
            (Some(seen), Some(file)) => is_same(seen, file),
            (None, None) => true,
            _ => false,
        };
        (named && same).then_some(self)
    }

    pub(super) const fn path(&self) -> &AbsPath {
        &self.path
    }

    pub(super) fn name(&self) -> &str {
        self.path.name().unwrap_or_default()
    }

    pub(super) const fn directory(&self) -> &OwnedFd {
        &self.directory
    }

    pub(super) const fn file(&self) -> Option<&OwnedFd> {
        self.file.as_ref()
    }

    pub(super) const fn is_there(&self) -> bool {
        self.file.is_some()
    }

    /// What stands there, in the state that it is in by now.
    pub(super) fn found(&self) -> Option<Result<Stat, Errno>> {
        self.file.as_ref().map(fstat)
    }

    pub(super) fn is_directory(&self) -> bool {
        matches!(self.found(), Some(Ok(found)) if kind(&found) == FileType::Directory)
    }

    /// How many other names the file has.
    pub(super) fn other_names(&self) -> u64 {
        let found = self.file.as_ref().and_then(|file| fs::metadata(name_of(file)).ok());
        found.map_or(0, |found| found.nlink().saturating_sub(1))
    }

    /// Who owns the directory.
    pub(super) fn owner(&self) -> Option<u32> {
        fstat(&self.directory).ok().map(|found| found.st_uid)
    }

    /// Says whether this process could write the file.
    pub(super) fn may_write(&self) -> bool {
        self.file.as_ref().is_some_and(|file| can(file, Access::WRITE_OK))
    }

    /// Says whether this process could make and remove names there.
    pub(super) fn may_name(&self) -> bool {
        can(&self.directory, Access::WRITE_OK | Access::EXEC_OK)
    }

    /// What lies on the way there from the root, and it itself.
    pub(super) fn way(&self) -> impl Iterator<Item = Identity> {
        let above = std::iter::successors(Some(self.path.clone()), AbsPath::parent);
        above.filter_map(|place| file_at(&place))
    }

    /// Says whether the name still stands for what was looked at.
    pub(super) fn is_still(&self) -> bool {
        match (look(&self.directory, OsStr::new(self.name())), &self.file) {
            (Ok(Some(now)), Some(file)) => is_same(&now, file),
            (Ok(None), None) => true,
            _ => false,
        }
    }
}

/// What lies at a place of the host.
pub(super) fn file_at(place: &AbsPath) -> Option<Identity> {
    let found = fs::symlink_metadata(place.as_str()).ok()?;
    Some((found.dev(), found.ino()))
}

pub(super) const fn identity(found: &Stat) -> Identity {
    (found.st_dev, found.st_ino)
}

/// Says whether this is an ordinary file that runs as whoever starts it.
pub(super) fn is_plain(found: &Stat) -> bool {
    kind(found) == FileType::RegularFile && found.st_mode & 0o6000 == 0
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Opens what stands at a name, itself. None: nothing does.
pub(super) fn look(directory: &OwnedFd, name: &OsStr) -> Result<Option<OwnedFd>, Errno> {
    match openat(directory, name, PLACE | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::NOENT) => Ok(None),
        file => file.map(Some),
    }
}

/// Says whether the mounts hold it as it is.
fn is_held(seen: &OwnedFd) -> bool {
    fstatvfs(seen).is_ok_and(|of| of.f_flag.contains(StatVfsMountFlags::RDONLY))
}

fn is_same(one: &OwnedFd, other: &OwnedFd) -> bool {
    let identity = |file| fstat(file).map(|found| identity(&found));
    matches!((identity(one), identity(other)), (Ok(one), Ok(other)) if one == other)
}

/// Where an open file is called from its root.
fn real(file: &OwnedFd) -> Option<PathBuf> {
    fs::read_link(name_of(file)).ok()
}

fn can(file: &OwnedFd, wanted: Access) -> bool {
    !is_held(file) && access(name_of(file), wanted).is_ok()
}
