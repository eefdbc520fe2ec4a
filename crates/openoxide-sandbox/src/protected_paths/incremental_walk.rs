//! A traversal of all directories below a root that lists only those that have changed since an
//! earlier traversal.
//!
//! For each known directory, only its metadata is read, which takes a tenth of the time of listing
//! it. A directory that is not exactly in its earlier state is listed again.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{CStr, CString, OsStr},
    ops::Range,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
    thread,
};

use rustix::{
    fs::{AtFlags, Mode, OFlags, fstat, open, statat},
    io::Errno,
};

use crate::protected_paths::{
    directory_listing::{DirectoryLister, ListedDirectory, ListedEntry, open_directory},
    directory_snapshot::{DirectoryStamp, KnownDirectory, VisitedDirectory, children, subtree_end},
    directory_walk::{DirectoryListing, MAX_PATH_LEN, is_gone},
    repository::is_object_directory,
};

/// The number of directories from which a second thread reads metadata, too.
const MIN_FOR_THREADS: usize = 1_000;
const MAX_THREADS: usize = 4;

/// A traversal of all directories at and below a root, parents before children. Symbolic links are
/// not followed. There is no limit on depth or number, because a directory that is not searched
/// could contain anything.
pub(crate) struct IncrementalWalk<'a> {
    /// The filter for the names that a listing contains. It must be the one of the earlier
    /// traversal.
    pub(crate) is_relevant: &'a dyn Fn(&ListedEntry<'_>) -> bool,
    /// The filter for directories with relevant names that are not searched.
    pub(crate) is_leaf: &'a dyn Fn(&Path) -> bool,
    /// True if the directories in which repositories keep objects and references are left out.
    pub(crate) skips_objects: bool,
    /// Directories that are left out, with everything below them.
    pub(crate) skipped_paths: &'a BTreeSet<&'a Path>,
    /// A function that makes an inaccessible directory accessible. It returns whether another
    /// attempt may succeed.
    pub(crate) make_accessible: &'a dyn Fn(&Path) -> bool,
    /// Called with each directory before its state is read. A watch that is added here reports
    /// every name that the traversal misses.
    pub(crate) before_reading: Option<&'a dyn Fn(&Path)>,
    /// Returns true when the result is no longer needed.
    pub(crate) is_cancelled: &'a dyn Fn() -> bool,
    /// Directories that were changed later than this, in seconds, are listed again next time.
    pub(crate) newest_stamp: i64,
}

/// The result of a traversal.
#[derive(Default)]
pub(crate) struct WalkResult {
    pub(super) visited: Vec<VisitedDirectory>,
    /// Directories that were not searched: directories that cannot be listed, and directories whose
    /// path is longer than the kernel accepts.
    pub(super) unsearched_directories: Vec<PathBuf>,
}

impl IncrementalWalk<'_> {
    /// Visits all directories. `see` is called for those that contain a relevant name.
    ///
    /// This process may have more threads meanwhile. They have ended afterwards.
    pub(crate) fn run(
        &self,
        root: &Path,
        known: &[KnownDirectory],
        see: &mut dyn FnMut(DirectoryListing<'_>),
    ) -> WalkResult {
        let opened = match open_root(root, self.make_accessible) {
            Ok(opened) => opened,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if is_gone(root) => {
                return WalkResult::default();
            }
            Err(_) => {
                let unsearched_directories = vec![root.to_owned()];
                return WalkResult { unsearched_directories, ..WalkResult::default() };
            }
        };
        let relative = |path: &&Path| {
            path.strip_prefix(root).ok().map(|path| path.as_os_str().as_bytes().to_vec())
        };
        let mut run = WalkState {
            walk: self,
            root,
            unchanged: match self.before_reading {
                None => find_unchanged(&opened, known),
                Some(_) => Vec::new(),
            },
            opened,
            known,
            skipped: self.skipped_paths.iter().filter_map(relative).collect(),
            pending: Vec::new(),
            lister: DirectoryLister::new(self.newest_stamp),
            result: WalkResult::default(),
        };
        run.pending.push(if known.is_empty() {
            Pending::Listing { path: c".".to_owned(), known: None }
        } else {
            Pending::Known(0..known.len())
        });
        run.visit_all(see);
        run.result
    }
}

/// Directories that are still to be visited.
enum Pending {
    /// Known directories, each with all known directories below it.
    Known(Range<usize>),
    /// A directory that must be listed. `known` is its number if it is known.
    Listing { path: CString, known: Option<usize> },
}

/// A traversal in progress.
struct WalkState<'a> {
    walk: &'a IncrementalWalk<'a>,
    root: &'a Path,
    opened: OwnedFd,
    known: &'a [KnownDirectory],
    /// Whether each known directory is in its earlier state. Empty if each is checked when it is
    /// visited.
    unchanged: Vec<bool>,
    /// The paths that are left out, relative to the root.
    skipped: BTreeSet<Vec<u8>>,
    /// The last one is visited next.
    pending: Vec<Pending>,
    lister: DirectoryLister,
    result: WalkResult,
}

impl WalkState<'_> {
    fn visit_all(&mut self, see: &mut dyn FnMut(DirectoryListing<'_>)) {
        while !(self.walk.is_cancelled)()
            && let Some(next) = self.pending.pop()
        {
            match next {
                Pending::Known(range) => self.visit_known(range, see),
                Pending::Listing { path, known } => self.visit_changed(path, known, see),
            }
        }
    }

    /// Visits known directories up to the first that has changed.
    fn visit_known(&mut self, range: Range<usize>, see: &mut dyn FnMut(DirectoryListing<'_>)) {
        let mut at = range.start;
        while at < range.end
            && !(self.walk.is_cancelled)()
            && let Some(directory) = self.known.get(at)
        {
            if self.is_skipped(&directory.path) {
                let end = subtree_end(self.known, at);
                self.result.visited.extend((at..end).map(VisitedDirectory::Kept));
                at = end;
            } else if self.is_unchanged(at, directory) {
                self.see_names(&directory.path, &directory.names, see);
                self.result.visited.push(VisitedDirectory::Kept(at));
                at += 1;
            } else {
                self.pending.push(Pending::Known(subtree_end(self.known, at)..range.end));
                let path = directory.path.clone();
                self.pending.push(Pending::Listing { path, known: Some(at) });
                return;
            }
        }
    }

    fn is_unchanged(&self, at: usize, directory: &KnownDirectory) -> bool {
        match self.walk.before_reading {
            None => self.unchanged.get(at) == Some(&true),
            Some(prepare) => {
                prepare(&absolute_path(self.root, &directory.path));
                is_unchanged(&self.opened, directory)
            }
        }
    }

    /// Lists a directory, and plans the visits of the directories in it.
    fn visit_changed(
        &mut self,
        path: CString,
        known: Option<usize>,
        see: &mut dyn FnMut(DirectoryListing<'_>),
    ) {
        let listed = if self.is_skipped(&path) { None } else { self.list_or_report(&path) };
        let Some(ListedDirectory { stamp, names, directories }) = listed else {
            let unlisted = KnownDirectory::new_unlisted(path);
            self.result.visited.push(VisitedDirectory::Listed(unlisted));
            return;
        };
        self.see_names(&path, &names, see);
        let children: BTreeMap<_, _> =
            known.into_iter().flat_map(|at| children(self.known, at)).collect();
        for name in directories.iter().rev() {
            let child = join(&path, name);
            if names.contains(name) && (self.walk.is_leaf)(&absolute_path(self.root, &child)) {
                continue;
            }
            self.pending.push(match children.get(child.as_c_str()) {
                Some(range) => Pending::Known(range.clone()),
                None => Pending::Listing { path: child, known: None },
            });
        }
        let listed = KnownDirectory { path, stamp, names };
        self.result.visited.push(VisitedDirectory::Listed(listed));
    }

    /// Lists a directory. Returns `None` if it no longer exists, or if it cannot be listed.
    fn list_or_report(&mut self, path: &CStr) -> Option<ListedDirectory> {
        let absolute = absolute_path(self.root, path);
        match self.list(path, &absolute) {
            Ok(listed) => Some(listed),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if is_gone(&absolute) => None,
            Err(_) => {
                self.result.unsearched_directories.push(absolute);
                None
            }
        }
    }

    fn list(&mut self, path: &CStr, absolute: &Path) -> Result<ListedDirectory, Errno> {
        if absolute.as_os_str().len() > MAX_PATH_LEN {
            return Err(Errno::NAMETOOLONG);
        }
        self.walk.before_reading.iter().for_each(|prepare| prepare(absolute));
        let open = || open_directory(&self.opened, path);
        let again = |error| if (self.walk.make_accessible)(absolute) { open() } else { Err(error) };
        let opened = open().or_else(again)?;
        // In a directory that can only be listed, the metadata of the entries could not be read
        // later.
        if !Mode::from_raw_mode(fstat(&opened)?.st_mode).contains(Mode::XUSR) {
            (self.walk.make_accessible)(absolute);
        }
        self.lister.list(&opened, absolute, self.walk.is_relevant)
    }

    /// Returns whether a directory is left out.
    fn is_skipped(&self, path: &CStr) -> bool {
        self.skipped.contains(path.to_bytes())
            || self.walk.skips_objects
                && is_object_directory_name(path)
                && is_object_directory(&absolute_path(self.root, path))
    }

    fn see_names(&self, path: &CStr, names: &[CString], see: &mut dyn FnMut(DirectoryListing<'_>)) {
        if !names.is_empty() {
            let names = names.iter().map(|name| OsStr::from_bytes(name.to_bytes()).to_owned());
            let path = absolute_path(self.root, path);
            see(DirectoryListing { path: &path, names: names.collect() });
        }
    }
}

/// Opens a root, which is not a file.
fn open_root(root: &Path, make_accessible: &dyn Fn(&Path) -> bool) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open_root = || open(root, flags, Mode::empty());
    open_root().or_else(|error| if make_accessible(root) { open_root() } else { Err(error) })
}

/// Returns whether each known directory is in its earlier state.
fn find_unchanged(root: &OwnedFd, known: &[KnownDirectory]) -> Vec<bool> {
    let check = |part: &[KnownDirectory]| {
        part.iter().map(|directory| is_unchanged(root, directory)).collect::<Vec<_>>()
    };
    let threads = match known.len() {
        ..MIN_FOR_THREADS => 1,
        _ => thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS),
    };
    let mut parts = known.chunks(known.len().div_ceil(threads).max(1));
    let own = parts.next().unwrap_or_default();
    thread::scope(|scope| {
        let others: Vec<_> = parts
            .map(|part| (part, thread::Builder::new().spawn_scoped(scope, move || check(part))))
            .collect();
        let mut all = check(own);
        for (part, thread) in others {
            // A part without a result is treated as changed.
            let checked = thread.ok().and_then(|thread| thread.join().ok());
            all.extend(checked.unwrap_or_else(|| vec![false; part.len()]));
        }
        all
    })
}

/// Returns whether a known directory is in its earlier state.
fn is_unchanged(root: &OwnedFd, directory: &KnownDirectory) -> bool {
    let Some(stamp) = directory.stamp else { return false };
    let now = statat(root, directory.path.as_c_str(), AtFlags::SYMLINK_NOFOLLOW);
    now.is_ok_and(|now| DirectoryStamp::from(&now) == stamp)
}

/// Returns whether [`is_object_directory`] may be true for this path.
fn is_object_directory_name(path: &CStr) -> bool {
    let name = path.to_bytes().rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    matches!(name, b"objects" | b"refs" | b"logs")
}

fn absolute_path(root: &Path, path: &CStr) -> PathBuf {
    if path == c"." { root.to_owned() } else { root.join(OsStr::from_bytes(path.to_bytes())) }
}

/// Joins a relative path and a name.
fn join(path: &CStr, name: &CStr) -> CString {
    if path == c"." {
        return name.to_owned();
    }
    let joined = [path.to_bytes(), b"/", name.to_bytes()].concat();
    // Neither part contains a zero byte.
    CString::new(joined).unwrap_or_default()
}

#[cfg(test)]
mod tests;
