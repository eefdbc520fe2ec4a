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

use crate::protect::with_access;

/// Nobody can write them. Nothing else is taken for a placeholder.
pub(super) const DIRECTORY: u32 = 0o555;
pub(super) const FILE: u32 = 0o444;

/// The longest text that is put into a placeholder.
const LONGEST: u64 = 2;

/// No run has more to write down.
const LARGEST: u64 = 1 << 22;

/// One placeholder: where it is, and which file it is once it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) path: PathBuf,
    made: Option<(u64, u64)>,
}

/// Reads what a run has written down. What it was writing when it was killed, it had not done yet.
pub(super) fn read(entry: &Path) -> Vec<Placed> {
    let mut bytes = Vec::new();
    let read = File::open(entry).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    let lines =
        bytes.split_inclusive(|byte| *byte == 0).filter_map(|line| line.strip_suffix(b"\0"));
    read.map_or_else(|_| Vec::new(), |_| lines.filter_map(Placed::parse).collect())
}

/// Says whether this could be a placeholder by its looks.
pub(super) fn is_like_one(found: &Metadata) -> bool {
    let (directory, file) = (found.is_dir(), found.is_file() && found.len() <= LONGEST);
    (directory && has_mode(found.mode(), DIRECTORY)) || (file && has_mode(found.mode(), FILE))
}

/// The mask of the process may have taken something away; a directory has the group's bit from the one above.
fn has_mode(found: u32, made: u32) -> bool {
    found & 0o5777 & !made == 0
}

impl Placed {
    pub(super) fn intended(path: &Path) -> Self {
        Self { path: path.to_owned(), made: None }
    }

    pub(super) fn found(path: &Path) -> io::Result<Self> {
        let found = path.symlink_metadata()?;
        Ok(Self { path: path.to_owned(), made: Some((found.dev(), found.ino())) })
    }

    /// `DEVICE INODE PATH`, or `- - PATH` before it was made.
    pub(super) fn line(&self) -> Vec<u8> {
        let number =
            |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
        let (device, inode) = (self.made.map(|made| made.0), self.made.map(|made| made.1));
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
        path.is_absolute().then(|| Self { path, made: device.ok().zip(inode.ok()) })
    }

    /// Says whether it is still what lies there.
    pub(super) fn is_there(&self) -> bool {
        self.parent().and_then(|(parent, name)| self.is_in(&parent, name)).unwrap_or(false)
    }

    /// Takes it away, if it is still the one that was made, and still empty. Says whether there is nothing left to do. A
    /// directory of ours that refuses it is opened meanwhile.
    pub(super) fn remove(&self) -> bool {
        match with_access(&self.path, || self.try_remove()) {
            Ok(()) => true,
            Err(error) => matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP),
        }
    }

    fn try_remove(&self) -> Result<(), Errno> {
        let (parent, name) = self.parent()?;
        match self.is_in(&parent, name) {
            Ok(true) => {}
            Err(error @ Errno::ACCESS) => return Err(error),
            Ok(false) | Err(_) => return Ok(()),
        }
        match unlinkat(&parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOTDIR) => unlinkat(&parent, name, AtFlags::empty()),
            // Somebody has put something in: it is his now.
            Err(Errno::NOTEMPTY | Errno::EXIST) => {
                chmodat(&parent, name, Mode::from_raw_mode(0o755), AtFlags::empty())
            }
            removed => removed,
        }
    }

    /// The directory that it lies in, reached by no symbolic link: one may have been put there since.
    fn parent(&self) -> Result<(OwnedFd, &Path), Errno> {
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

    fn is_in(&self, parent: &OwnedFd, name: &Path) -> Result<bool, Errno> {
        let found = rustix::fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let same = self.made.is_none_or(|made| made == (found.st_dev, found.st_ino));
        let own = found.st_uid == super::own_uid();
        Ok(same && own && looks_like_one(&found))
    }
}

/// Says whether this could be a placeholder by its looks.
pub(crate) fn looks_like_one(found: &Stat) -> bool {
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => has_mode(found.st_mode, DIRECTORY),
        FileType::RegularFile => {
            let small = u64::try_from(found.st_size).is_ok_and(|size| size <= LONGEST);
            has_mode(found.st_mode, FILE) && small && found.st_nlink == 1
        }
        _ => false,
    }
}
