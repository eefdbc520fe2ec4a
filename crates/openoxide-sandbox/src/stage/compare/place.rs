//! One name, as it was staged and as it lies there.

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

use crate::stage::{
    Kind, Root, Thing,
    seen::look,
    tree::{self, Tree},
};

/// A directory as it was staged, and the one that lies there.
pub(super) struct Both {
    pub(super) upper: OwnedFd,
    pub(super) lower: Option<OwnedFd>,
    /// Whether nothing of the lower one is seen in the other.
    pub(super) opaque: bool,
}

impl Both {
    /// What lies in a directory through which nothing is seen, nothing is seen through.
    pub(super) fn new(upper: OwnedFd, lower: Option<OwnedFd>, opaque: bool) -> io::Result<Self> {
        let opaque = opaque || is_opaque(&upper)?;
        Ok(Self { upper, lower, opaque })
    }
}

/// A name in such a directory.
pub(super) struct Place<'a> {
    pub(super) both: &'a Both,
    pub(super) name: &'a OsStr,
    /// From the writable directory on.
    pub(super) rest: PathBuf,
    /// What lies there now.
    pub(super) now: Option<Stat>,
}

impl<'a> Place<'a> {
    pub(super) fn new(both: &'a Both, within: &Path, name: &'a OsStr) -> io::Result<Self> {
        let now = both.lower.as_ref().map(|lower| look(lower, name)).transpose()?.flatten();
        Ok(Self { both, name, rest: within.join(name), now })
    }

    pub(super) fn thing(&self) -> io::Result<Option<Thing>> {
        match (&self.both.lower, &self.now) {
            (Some(lower), Some(now)) => Thing::of(lower, self.name, now),
            _ => Ok(None),
        }
    }

    /// The directories by this name; there may be none in the place of something else.
    pub(super) fn lower(&self) -> io::Result<Option<OwnedFd>> {
        match (&self.both.lower, &self.now) {
            (Some(lower), Some(now)) if kind(now) == FileType::Directory => {
                tree::directory_at(Tree::Host, lower, Path::new(self.name)).map(Some)
            }
            _ => Ok(None),
        }
    }
}

pub(super) fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

/// Says whether a file or link says the same. What cannot be read is taken to be different.
pub(super) fn say_the_same(root: &Root, rest: &Path, before: &Thing, after: &Thing) -> bool {
    match (&before.kind, &after.kind) {
        (Kind::File(old), Kind::File(new)) if old == new => {
            let old = tree::file_at(Tree::Host, &root.directory, rest);
            let new = tree::file_at(Tree::Staged, &root.upper, rest);
            old.and_then(|old| have_the_same(old, new?)).unwrap_or(false)
        }
        (old, new) => matches!(old, Kind::Link(_)) && old == new,
    }
}

fn have_the_same(mut a: File, mut b: File) -> io::Result<bool> {
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

/// What an overlay puts where something of the lower directory was removed: a device that no program can make in it.
pub(super) fn is_whiteout(found: &Stat) -> bool {
    kind(found) == FileType::CharacterDevice && found.st_rdev == 0
}

/// Says whether nothing of the lower directory is seen in this one.
fn is_opaque(directory: &OwnedFd) -> io::Result<bool> {
    let mut value = [0_u8; 8];
    match fgetxattr(directory, c"user.overlay.opaque", &mut value[..]) {
        Ok(length) => Ok(value.get(..length) == Some(b"y")),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
