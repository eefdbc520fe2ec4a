//! Directories with hooks of which a program changes a private copy.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File, Permissions},
    io::{self, Read as _},
    os::{
        fd::{AsFd, OwnedFd},
        unix::{
            ffi::OsStrExt as _,
            fs::{PermissionsExt as _, symlink},
        },
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, open, openat, readlinkat, statat};

use crate::protected_paths::quarantine_suffix::QUARANTINE_SUFFIX;

/// The maximum number of entries of a tree, and the maximum size of its files together.
const MAX_ENTRIES: usize = 512;
pub(crate) const MAX_HOOK_BYTES: u64 = 4 << 20;

/// An entry of a directory with hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HookEntry {
    Directory,
    File { content: Vec<u8>, mode: u32 },
    Link(PathBuf),
}

/// The entries of a directory with hooks, by their relative paths. A directory comes before its
/// contents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HookTree {
    pub(crate) entries: BTreeMap<PathBuf, HookEntry>,
    /// True if there are no other entries.
    is_complete: bool,
}

/// A directory with hooks before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrivateHooks {
    /// The directory on the host.
    pub(crate) path: PathBuf,
    /// Its entries before the run.
    pub(crate) tree: HookTree,
}

impl PrivateHooks {
    /// Reads the directory. Returns `None` if it cannot be read completely or is too large.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let tree = HookTree::read(open(path, flags, Mode::empty()).ok()?);
        tree.is_complete.then(|| Self { path: path.to_owned(), tree })
    }
}

impl HookTree {
    /// Reads a directory. A program may have put anything into it.
    pub(crate) fn read(directory: OwnedFd) -> Self {
        let mut tree = Self { entries: BTreeMap::new(), is_complete: true };
        let (mut open, mut left) = (vec![(PathBuf::new(), directory)], MAX_HOOK_BYTES);
        while let Some((path, directory)) = open.pop() {
            let Ok(names) = Dir::read_from(&directory) else {
                tree.is_complete = false;
                continue;
            };
            for name in names.flatten() {
                let name = OsStr::from_bytes(name.file_name().to_bytes());
                if name == "." || name == ".." {
                    continue;
                }
                let entry = if tree.entries.len() < MAX_ENTRIES {
                    HookEntry::read(&directory, name, &mut left)
                } else {
                    None
                };
                let below = path.join(name);
                match (&entry, open_directory(&directory, name)) {
                    (Some(HookEntry::Directory), Some(found)) => open.push((below.clone(), found)),
                    (Some(HookEntry::Directory), None) | (None, _) => tree.is_complete = false,
                    _ => {}
                }
                tree.entries.extend(entry.map(|entry| (below, entry)));
            }
        }
        tree
    }

    /// Returns a tree that is one entry, with the empty path.
    pub(crate) fn from_entry(entry: HookEntry) -> Self {
        Self { entries: BTreeMap::from([(PathBuf::new(), entry)]), is_complete: true }
    }

    /// Reads an entry of a directory, with what is below it. Returns `None` if that is not possible.
    pub(crate) fn read_at(directory: &OwnedFd, name: &OsStr) -> Option<Self> {
        let entry = HookEntry::read(directory, name, &mut MAX_HOOK_BYTES.clone())?;
        let mut tree = match &entry {
            HookEntry::Directory => Self::read(open_directory(directory, name)?),
            _ => Self { entries: BTreeMap::new(), is_complete: true },
        };
        tree.entries.insert(PathBuf::new(), entry);
        Some(tree)
    }

    /// Creates the entries below a path. The empty path is that path itself.
    pub(crate) fn write(&self, at: &Path) -> io::Result<()> {
        self.entries.iter().try_for_each(|(path, entry)| match path.as_os_str().is_empty() {
            true => entry.write(at),
            false => entry.write(&at.join(path)),
        })
    }

    /// Returns the part of the tree at a path: the entry itself, and what is below it.
    pub(crate) fn part(&self, at: &Path) -> Self {
        let below = self.entries.iter().filter_map(|(path, entry)| {
            Some((path.strip_prefix(at).ok()?.to_owned(), entry.clone()))
        });
        Self { entries: below.collect(), is_complete: true }
    }

    /// Returns the outermost paths that are new or different in a later version of the tree.
    /// Entries in quarantine are left out.
    pub(crate) fn changed_paths(&self, after: &Self) -> BTreeSet<PathBuf> {
        let changed = after.entries.iter().filter(|(path, entry)| {
            self.entries.get(*path) != Some(entry) && !is_quarantined(path)
        });
        changed.filter_map(|(path, _)| self.outermost_missing_path(path)).collect()
    }

    fn outermost_missing_path(&self, path: &Path) -> Option<PathBuf> {
        let is_directory = |above: &&Path| self.entries.get(*above) == Some(&HookEntry::Directory);
        let mut above: Vec<_> =
            path.ancestors().filter(|above| !above.as_os_str().is_empty()).collect();
        above.reverse();
        Some(above.into_iter().find(|above| !is_directory(above)).unwrap_or(path).to_owned())
    }
}

impl HookEntry {
    fn read(directory: &OwnedFd, name: &OsStr, left: &mut u64) -> Option<Self> {
        let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        match FileType::from_raw_mode(found.st_mode) {
            FileType::Directory => Some(Self::Directory),
            FileType::Symlink => {
                let target = readlinkat(directory, name, Vec::new()).ok()?;
                Some(Self::Link(OsStr::from_bytes(target.to_bytes()).into()))
            }
            FileType::RegularFile => Self::read_file(directory, name, left),
            _ => None,
        }
    }

    fn read_file(directory: &OwnedFd, name: &OsStr, left: &mut u64) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(openat(directory, name, flags, Mode::empty()).ok()?);
        let found = file.metadata().ok().filter(fs::Metadata::is_file)?;
        let mut content = Vec::new();
        let length = file.take(*left + 1).read_to_end(&mut content).ok()?;
        *left = left.checked_sub(u64::try_from(length).ok()?)?;
        Some(Self::File { content, mode: found.permissions().mode() & 0o777 })
    }

    /// Creates the entry at a path where nothing exists.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        match self {
            Self::Directory => fs::create_dir(path),
            Self::Link(target) => symlink(target, path),
            Self::File { content, mode } => {
                let mut file = File::create_new(path)?;
                io::Write::write_all(&mut file, content)?;
                file.set_permissions(Permissions::from_mode(*mode))
            }
        }
    }
}

fn open_directory(directory: impl AsFd, name: &OsStr) -> Option<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(directory, name, flags, Mode::empty()).ok()
}

fn is_quarantined(path: &Path) -> bool {
    let suffix = QUARANTINE_SUFFIX.as_bytes();
    path.as_os_str().as_bytes().windows(suffix.len()).any(|part| part == suffix)
}
