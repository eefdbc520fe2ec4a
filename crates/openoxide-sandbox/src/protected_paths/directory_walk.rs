//! A traversal of all directories below some roots.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Dir, Mode, OFlags, fstat, open},
    io::Errno,
};

use crate::protected_paths::directory_listing::is_directory;

/// The longest path of a directory that is searched. The kernel accepts paths of 4,095 bytes. The
/// entries of the directory and their names in quarantine must fit into that, too.
pub(super) const MAX_PATH_LEN: usize = 3_500;

/// The contents of a directory, limited to the relevant names.
pub(crate) struct DirectoryListing<'a> {
    pub(crate) path: &'a Path,
    pub(crate) names: Vec<OsString>,
}

impl DirectoryListing<'_> {
    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }
}

/// A traversal of all directories at and below some roots, parents before children. Symbolic links
/// are not followed. There is no limit on depth or number, because a directory that is not searched
/// could contain anything.
pub(crate) struct DirectoryWalk<'a> {
    /// The filter for the names that a listing contains.
    pub(crate) is_relevant: &'a dyn Fn(&OsStr) -> bool,
    /// The filter for directories that are left out.
    pub(crate) is_skipped: &'a dyn Fn(&Path) -> bool,
    /// A function that makes an inaccessible directory accessible. It returns whether another
    /// attempt may succeed.
    pub(crate) make_accessible: &'a dyn Fn(&Path) -> bool,
}

impl DirectoryWalk<'_> {
    /// Visits all directories. Returns those that were not searched: directories that cannot be
    /// listed, and directories whose path is longer than the kernel accepts.
    pub(crate) fn run(
        &self,
        roots: impl IntoIterator<Item = PathBuf>,
        mut see: impl FnMut(DirectoryListing<'_>),
    ) -> Vec<PathBuf> {
        // A root can be a single file that was granted by name. It has no entries.
        let roots = roots.into_iter().filter(|root| !root.is_file());
        let mut open: VecDeque<_> = roots.collect();
        let mut unsearched = Vec::new();
        while let Some(path) = open.pop_front() {
            let mut below = |path| open.push_back(path);
            match self.list_directory(&path, &mut below, &mut see) {
                Ok(()) => {}
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if is_gone(&path) => {}
                Err(_) => unsearched.push(path),
            }
        }
        unsearched
    }

    /// Lists one directory.
    fn list_directory(
        &self,
        path: &Path,
        below: &mut dyn FnMut(PathBuf),
        see: &mut impl FnMut(DirectoryListing<'_>),
    ) -> Result<(), Errno> {
        let again =
            |error| if (self.make_accessible)(path) { open_directory(path) } else { Err(error) };
        let opened = open_directory(path).or_else(again)?;
        // In a directory that can only be listed, the metadata of the entries could not be read
        // later.
        if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::XUSR) {
            (self.make_accessible)(path);
        }
        let mut names = Vec::new();
        for entry in Dir::read_from(&opened)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            if is_directory(&opened, entry.file_name(), entry.file_type()) {
                let path = path.join(name);
                if !(self.is_skipped)(&path) {
                    below(path);
                }
            }
            if (self.is_relevant)(name) {
                names.push(name.to_owned());
            }
        }
        see(DirectoryListing { path, names });
        Ok(())
    }
}

/// Opens a directory, which is not a symbolic link, to list it.
pub(super) fn open_directory(path: &Path) -> Result<OwnedFd, Errno> {
    if path.as_os_str().len() > MAX_PATH_LEN {
        return Err(Errno::NAMETOOLONG);
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    open(path, flags, Mode::empty())
}

/// Returns whether a path no longer exists. Files can be created and removed during the traversal.
pub(super) fn is_gone(path: &Path) -> bool {
    match path.symlink_metadata() {
        Err(error) => error.kind() == io::ErrorKind::NotFound,
        Ok(found) => !found.is_dir(),
    }
}
