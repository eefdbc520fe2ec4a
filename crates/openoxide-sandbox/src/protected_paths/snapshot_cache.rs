//! The snapshots of earlier runs, in the private directory of OpenOxide. No confined program can
//! read or write them. Each writable directory has one, which is checked against the disk before it
//! is used.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, ErrorKind, Read as _, Write as _},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    process,
    time::SystemTime,
};

use rustix::process::geteuid;

use crate::protected_paths::{
    directory_scan::hash_relevant_names,
    directory_snapshot::{DirectorySnapshot, DirectoryTree},
};

/// The version of the format. Another version is ignored.
const FORMAT: u32 = 1;
/// The maximum size of a file that is read.
const MAX_BYTES: u64 = 64 << 20;
/// The maximum number of files. The oldest are removed.
const MAX_FILES: usize = 64;
/// The number of newly listed directories from which a snapshot is stored. Listing fewer again takes
/// less time than storing all.
const MIN_NEW_STAMPS: usize = 64;
/// The number of bytes of the checksum at the beginning of a file.
const CHECKSUM_BYTES: usize = 8;

/// The directory of the stored snapshots.
#[derive(Debug)]
pub(crate) struct SnapshotCache {
    directory: PathBuf,
    /// The filter for relevant names. Snapshots that were made with another one are ignored.
    filter_id: u64,
}

impl SnapshotCache {
    /// Opens the cache of the search for protected paths, next to the registry. Returns `None` if it
    /// cannot be created, or if another user could write in it. Everything is listed then.
    pub(crate) fn open(registry: &Path) -> Option<Self> {
        let mut hasher = DefaultHasher::new();
        hash_relevant_names(&mut hasher);
        Self::open_for_filter(registry, hasher.finish())
    }

    /// Opens the cache of searches with this filter.
    pub(super) fn open_for_filter(registry: &Path, filter_id: u64) -> Option<Self> {
        let mut directory = OsString::from(registry);
        directory.push("-directories");
        let directory = PathBuf::from(directory);
        DirBuilder::new().recursive(true).mode(0o700).create(&directory).ok()?;
        let found = directory.symlink_metadata().ok()?;
        let is_private = found.is_dir() && is_own(&found);
        is_private.then_some(Self { directory, filter_id })
    }

    /// Loads the snapshot of these directories. It contains only those that are stored.
    pub(crate) fn load(&self, roots: &[PathBuf]) -> DirectorySnapshot {
        let load = |root: &PathBuf| Some((root.clone(), self.read_tree(&self.file(root)?)?));
        let trees = roots.iter().filter_map(load).collect();
        DirectorySnapshot { trees, ..DirectorySnapshot::default() }
    }

    /// Stores a snapshot if enough of it is new.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written. The old one stays then.
    pub(crate) fn store(&self, snapshot: &DirectorySnapshot) -> io::Result<()> {
        if snapshot.new_stamps < MIN_NEW_STAMPS {
            return Ok(());
        }
        for (root, tree) in &snapshot.trees {
            if let Some(file) = self.file(root) {
                self.write_tree(&file, tree)?;
            }
        }
        self.remove_oldest()
    }

    /// Returns the file for a directory. Its name consists of the numbers of the directory and of
    /// the filter.
    fn file(&self, root: &Path) -> Option<PathBuf> {
        let found = root.symlink_metadata().ok()?;
        Some(self.directory.join(format!(
            "{:x}-{:x}-{:x}",
            found.dev(),
            found.ino(),
            self.filter_id
        )))
    }

    /// Reads a file. Returns `None` if it does not exist, is incomplete, or was written with another
    /// filter.
    fn read_tree(&self, path: &Path) -> Option<DirectoryTree> {
        let no_follow =
            OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path).ok()?;
        let found = no_follow.metadata().ok()?;
        if !found.is_file() || !is_own(&found) || found.len() > MAX_BYTES {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(found.len()).ok()?);
        no_follow.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
        let (sum, content) = bytes.split_first_chunk::<CHECKSUM_BYTES>()?;
        (u64::from_le_bytes(*sum) == self.checksum(content)).then_some(())?;
        postcard::from_bytes(content).ok()
    }

    /// Writes a file beside the old one, and then replaces that.
    fn write_tree(&self, path: &Path, tree: &DirectoryTree) -> io::Result<()> {
        let content = postcard::to_stdvec(tree).map_err(io::Error::other)?;
        let new = path.with_extension(process::id().to_string());
        let written = create_private(&new).and_then(|mut file| {
            file.write_all(&self.checksum(&content).to_le_bytes())?;
            file.write_all(&content)
        });
        let replaced = written.and_then(|()| fs::rename(&new, path));
        if replaced.as_ref().is_err_and(|error| error.kind() != ErrorKind::NotFound) {
            fs::remove_file(&new)?;
        }
        replaced
    }

    /// Returns the checksum of a file, which also depends on the format and the filter.
    fn checksum(&self, content: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        FORMAT.hash(&mut hasher);
        self.filter_id.hash(&mut hasher);
        hasher.write(content);
        hasher.finish()
    }

    fn remove_oldest(&self) -> io::Result<()> {
        let age = |path: &PathBuf| path.metadata().and_then(|found| found.modified());
        let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(&self.directory)?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter_map(|path| Some((age(&path).ok()?, path)))
            .collect();
        files.sort();
        let surplus = files.len().saturating_sub(MAX_FILES);
        files.iter().take(surplus).try_for_each(|(_, path)| fs::remove_file(path))
    }
}

fn is_own(found: &fs::Metadata) -> bool {
    found.uid() == geteuid().as_raw() && found.mode() & 0o077 == 0
}

fn create_private(path: &Path) -> io::Result<File> {
    let flags = libc::O_NOFOLLOW;
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
}
