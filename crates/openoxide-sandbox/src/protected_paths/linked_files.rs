//! A search for files with more than one name (hard links).

use std::{
    collections::VecDeque,
    ffi::OsStr,
    mem::MaybeUninit,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{AtFlags, FileType, RawDir, Stat, lstat, statat},
    io::Errno,
};

use crate::protected_paths::{
    directory_listing::is_directory, directory_walk::open_directory,
    repository::is_object_directory,
};

/// The maximum number of names that are checked.
const MAX_NAMES: usize = 50_000;
const BUFFER_BYTES: usize = 32 * 1024;

/// A search that reads the metadata of each file at and below some paths, without following
/// symbolic links. Objects of repositories are left out, because `git clone` links them and they
/// are not written again. After [`MAX_NAMES`] names, the search ends.
pub(crate) struct LinkedFileSearch<'a> {
    /// The filter for directories that are left out.
    pub(crate) is_skipped: &'a dyn Fn(&Path) -> bool,
    /// Returns true when the result is no longer needed.
    pub(crate) is_cancelled: &'a dyn Fn() -> bool,
}

impl LinkedFileSearch<'_> {
    /// Calls `see` for each name of a file that has more than one.
    pub(crate) fn run(&self, places: Vec<PathBuf>, see: &mut dyn FnMut(PathBuf, &Stat)) {
        for place in &places {
            if let Ok(found) = lstat(place)
                && is_linked_file(&found)
            {
                see(place.clone(), &found);
            }
        }
        let mut open: VecDeque<_> = places.into_iter().filter(|place| place.is_dir()).collect();
        let mut left = MAX_NAMES;
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        while let Some(path) = open.pop_front()
            && left > 0
            && !(self.is_cancelled)()
        {
            // A directory that cannot be listed is reported by the search for steering files.
            let Ok(directory) = open_directory(&path) else { continue };
            let mut listing = LinkedFileListing { path: &path, directory, left: &mut left };
            let below = listing.read(&mut buffer, see).unwrap_or_default();
            open.extend(
                below
                    .into_iter()
                    .filter(|path| !(self.is_skipped)(path) && !is_object_directory(path)),
            );
        }
    }
}

/// The listing of one directory.
struct LinkedFileListing<'a> {
    path: &'a Path,
    directory: OwnedFd,
    /// The number of further names that may be checked.
    left: &'a mut usize,
}

impl LinkedFileListing<'_> {
    /// Reads the directory, and returns the directories in it.
    fn read(
        &mut self,
        buffer: &mut [MaybeUninit<u8>],
        see: &mut dyn FnMut(PathBuf, &Stat),
    ) -> Result<Vec<PathBuf>, Errno> {
        let mut below = Vec::new();
        let mut entries = RawDir::new(&self.directory, buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            let Some(left) = self.left.checked_sub(1) else { break };
            *self.left = left;
            let path = || self.path.join(OsStr::from_bytes(name.to_bytes()));
            if is_directory(&self.directory, name, entry.file_type()) {
                below.push(path());
            } else if matches!(entry.file_type(), FileType::RegularFile | FileType::Unknown)
                && let Ok(found) = statat(&self.directory, name, AtFlags::SYMLINK_NOFOLLOW)
                && is_linked_file(&found)
            {
                see(path(), &found);
            }
        }
        Ok(below)
    }
}

fn is_linked_file(found: &Stat) -> bool {
    FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && found.st_nlink > 1
}
