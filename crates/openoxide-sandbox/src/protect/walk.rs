//! A bounded look at all directories below some others.

use std::{
    collections::VecDeque,
    ffi::{OsStr, OsString},
    fs,
    path::{Path, PathBuf},
};

/// How many names are looked at, and how deep. A tree that is larger was not searched, and that is said.
const ENTRIES: usize = 50_000;
const DEPTH: usize = 24;

/// What a directory holds: only the names that somebody asked for.
pub(crate) struct Listing<'a> {
    pub(crate) path: &'a Path,
    pub(crate) names: Vec<OsString>,
}

impl Listing<'_> {
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }
}

/// A look at all directories at and below some roots, the upper ones first, so that a tree with too much in it is still
/// searched where people work. No symbolic link is followed.
pub(crate) struct Walk<'a> {
    /// Whether this name is worth a line in the listing.
    pub(crate) asked: &'a dyn Fn(&OsStr) -> bool,
    /// Whether this directory is left out.
    pub(crate) skipped: &'a dyn Fn(&Path) -> bool,
    /// Opens a directory that cannot be looked into; says whether that may help.
    pub(crate) open: &'a dyn Fn(&Path) -> bool,
}

impl Walk<'_> {
    /// Goes through all of them. Returns the directories that were not searched, or not wholly; when there is too much,
    /// the first of them.
    pub(crate) fn go(
        &self,
        roots: impl IntoIterator<Item = PathBuf>,
        mut see: impl FnMut(Listing<'_>),
    ) -> Vec<PathBuf> {
        // A root can be one file that was granted by name: nothing lies below that.
        let roots = roots.into_iter().filter(|root| !root.is_file());
        let mut open: VecDeque<_> = roots.map(|root| (root, 0)).collect();
        let (mut left, mut unsearched) = (ENTRIES, Vec::new());
        while let Some((path, depth)) = open.pop_front() {
            let mut below = |path| open.push_back((path, depth + 1));
            if depth > DEPTH || !self.list(&path, &mut left, &mut below, &mut see) {
                unsearched.push(path);
            }
            if left == 0 {
                unsearched.extend(open.pop_front().map(|(path, _)| path));
                break;
            }
        }
        unsearched
    }

    /// Lists one directory. Says whether all of it was seen.
    fn list(
        &self,
        path: &Path,
        left: &mut usize,
        below: &mut dyn FnMut(PathBuf),
        see: &mut impl FnMut(Listing<'_>),
    ) -> bool {
        let again = |error| if (self.open)(path) { fs::read_dir(path) } else { Err(error) };
        let Ok(entries) = fs::read_dir(path).or_else(again) else { return is_gone(path) };
        let mut names = Vec::new();
        for entry in entries.take(*left).filter_map(Result::ok) {
            *left -= 1;
            let name = entry.file_name();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                let path = entry.path();
                if !(self.skipped)(&path) {
                    below(path);
                }
            }
            if (self.asked)(&name) {
                names.push(name);
            }
        }
        see(Listing { path, names });
        *left > 0
    }
}

/// Files come and go while one looks.
fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}
