//! Staging: a program changes an overlay of its writable directories, and a person decides about
//! the changes afterwards.
//!
//! The upper layers are stored with the state of OpenOxide, accessible only to this user. Only data
//! that the kernel itself wrote is trusted there: a whiteout is a device that cannot be created in
//! a user namespace, and the marks of directories are attributes that an overlay hides from
//! programs which write into it.

mod commit;
mod commit_entry;
mod comparison;
mod entry_state;
mod stage_directory;
#[cfg(test)]
mod tests;
mod tree;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs::File,
    io::{self, Read as _},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

pub use commit::CommitResult;
pub use entry_state::{EntryKind, EntryState};
pub(crate) use stage_directory::{OverlayLayer, remove_stale};

use crate::{
    ProtectedPaths,
    error::{SandboxError, SetupContext as _},
    protected_paths::outermost_roots,
};
use entry_state::FileTime;
use stage_directory::StageDirectory;
use tree::TreeOwner;

/// What a staged run changes, as long as nothing has been done about it. Dropping it takes it all away; after a crash, the next
/// [`PlaceholderRegistry::remove_stale`](crate::PlaceholderRegistry::remove_stale) does.
#[derive(Debug)]
#[must_use = "what was staged is gone when this is dropped"]
pub struct StagingArea {
    profile: SandboxRestrictions,
    roots: Vec<StagedRoot>,
    directory: StageDirectory,
    /// Directories that the program closed and that were opened to look into them, by their numbers, and the modes that they had.
    closed_modes: RefCell<BTreeMap<u64, u32>>,
}

/// One writable directory.
#[derive(Debug)]
struct StagedRoot {
    path: PathBuf,
    /// Itself, whatever its name leads to by now.
    directory: OwnedFd,
    upper: OwnedFd,
    /// The time at which it was staged, by the clock of its file system.
    started_at: FileTime,
}

/// The changes that a staged run would make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedChanges {
    /// In the order of their paths.
    pub changes: Vec<StagedChange>,
    /// The changes that are not made, whatever is decided about the others.
    pub skipped: Vec<SkippedChange>,
}

/// One path that would be made, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedChange {
    /// The path.
    pub path: AbsPath,
    /// The current entry, if there is one.
    pub before: Option<EntryState>,
    /// The new entry. `None` if the entry is removed.
    pub after: Option<EntryState>,
    /// True if this is a file of which only the mode changes.
    pub same_content: bool,
    /// The index of the writable directory that contains it, and the path in that directory.
    root_index: usize,
    relative_path: PathBuf,
}

/// Something that is not changed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedChange {
    /// The path. It may hold any character; bytes that are none are replaced.
    pub path: String,
    /// The reason.
    pub reason: String,
}

impl StagingArea {
    /// Creates a staging area for the changes of a run under this profile, next to the registry.
    ///
    /// # Errors
    /// Returns an error if a writable directory cannot be staged: it is a file, another file system
    /// is mounted below it, or it contains the staging area.
    pub fn prepare(
        registry: &AbsPath,
        profile: &SandboxRestrictions,
    ) -> Result<Self, SandboxError> {
        let paths = outermost_roots(&profile.writable);
        stage_directory::check_roots(Path::new(registry.as_str()), &paths)
            .with_step(|| "staging".to_owned())?;
        let place = StageDirectory::create(Path::new(registry.as_str()));
        let place = place.with_step(|| "making a place for what is staged".to_owned())?;
        let root = |(number, path): (usize, &PathBuf)| {
            let staged = StagedRoot::create(path, &OverlayLayer::new(place.path(), number));
            staged.with_step(|| format!("staging `{}`", path.display()))
        };
        let roots = paths.iter().enumerate().map(root).collect::<Result<_, _>>()?;
        Ok(Self {
            profile: profile.clone(),
            roots,
            directory: place,
            closed_modes: RefCell::default(),
        })
    }

    /// The place, for [`LaunchConfig::staging_directory`](crate::LaunchConfig::staging_directory).
    ///
    /// # Errors
    /// If the path is not valid UTF-8.
    pub fn directory(&self) -> Result<AbsPath, SandboxError> {
        let path = self.directory.path().to_str().ok_or(io::ErrorKind::InvalidFilename);
        let path = path.map_err(io::Error::from);
        path.and_then(|path| AbsPath::new(path).map_err(io::Error::other))
            .with_step(|| "naming a place for what is staged".to_owned())
    }

    /// Compares the staged entries with the current entries of the host. No process may run in the
    /// staging area any more.
    ///
    /// Entries that another process has changed since the run began are skipped. So are protected
    /// paths, names that a rule cannot express, and entries that are not files, directories or
    /// symbolic links.
    ///
    /// # Errors
    /// Returns an error if the entries cannot be read, or if they exceed a limit. Nothing is known
    /// about the changes then.
    pub fn find_changes(&self) -> io::Result<StagedChanges> {
        comparison::find_changes(self, &ProtectedPaths::find(&self.profile)?)
    }

    /// Makes the changes that were shown to a person, path by path. An entry that is not as it was
    /// shown is not changed. New files that a program of the host would run are quarantined, as
    /// after any run.
    ///
    /// # Errors
    /// Returns an error if the protected paths cannot be determined. No change was made then.
    pub fn commit(&self, changes: &StagedChanges) -> io::Result<CommitResult> {
        commit::apply_changes(self, changes, &ProtectedPaths::find(&self.profile)?)
    }

    /// Reads at most `most` bytes of the file that a change would replace.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn read_before(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>> {
        let root = self.find_root(change)?;
        read_prefix(tree::open_file(TreeOwner::Host, &root.directory, &change.relative_path)?, most)
    }

    /// Reads at most `most` bytes of the file that a change would write.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read.
    pub fn read_after(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>> {
        read_prefix(self.open_staged_file(change)?, most)
    }

    fn open_staged_file(&self, change: &StagedChange) -> io::Result<File> {
        tree::open_file(TreeOwner::Staged, &self.find_root(change)?.upper, &change.relative_path)
    }

    fn find_root(&self, change: &StagedChange) -> io::Result<&StagedRoot> {
        self.roots.get(change.root_index).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

fn read_prefix(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl StagedRoot {
    fn create(path: &Path, layer: &OverlayLayer) -> io::Result<Self> {
        let directory = tree::open_root(path)?;
        layer.create(&directory)?;
        let began = FileTime::wait_for_tick(&directory)?;
        Ok(Self {
            path: path.to_owned(),
            directory,
            upper: tree::open_root(&layer.upper)?,
            started_at: began,
        })
    }
}

impl StagedChange {
    /// Returns whether a directory replaces an entry of another type, or is replaced by one.
    fn is_type_change(&self) -> bool {
        let directory = |thing: &Option<EntryState>| thing.as_ref().map(EntryState::is_directory);
        matches!((directory(&self.before), directory(&self.after)), (Some(a), Some(b)) if a != b)
    }
}
