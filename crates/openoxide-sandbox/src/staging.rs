//! Staging: a program changes an overlay of its writable directories, and a person says afterwards what becomes of that.
//!
//! The upper layers lie with this program's state, for this user alone. Nothing in them is believed but what the kernel itself wrote
//! there: a whiteout is a device that nobody in a user namespace can make, and marks of directories are attributes that an overlay
//! hides from who writes into it.

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
/// [`PlaceholderRegistry::sweep`](crate::PlaceholderRegistry::sweep) does.
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
    /// When it was staged, by the clock of its file system.
    started_at: FileTime,
}

/// What a staged run would change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedChanges {
    /// In the order of their paths.
    pub changes: Vec<StagedChange>,
    /// What is not changed, whatever is said of the rest.
    pub skipped: Vec<SkippedChange>,
}

/// One path that would be made, changed or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StagedChange {
    /// The path.
    pub path: AbsPath,
    /// What lies there.
    pub before: Option<EntryState>,
    /// What would lie there.
    pub after: Option<EntryState>,
    /// Whether it is a file that only gets another mode.
    pub same_content: bool,
    /// Which writable directory it lies in, and where.
    root_index: usize,
    relative_path: PathBuf,
}

/// Something that is not changed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedChange {
    /// The path. It may hold any character; bytes that are none are replaced.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl StagingArea {
    /// Makes a place for what a run under this profile changes, beside the registry.
    ///
    /// # Errors
    /// Where a writable directory cannot be staged: it is a file, another file system is mounted below it, the place lies in it.
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

    /// The place, for [`LaunchConfig::staged`](crate::LaunchConfig::staged).
    ///
    /// # Errors
    /// Where it cannot be said in UTF-8.
    pub fn directory(&self) -> Result<AbsPath, SandboxError> {
        let path = self.directory.path().to_str().ok_or(io::ErrorKind::InvalidFilename);
        let path = path.map_err(io::Error::from);
        path.and_then(|path| AbsPath::new(path).map_err(io::Error::other))
            .with_step(|| "naming a place for what is staged".to_owned())
    }

    /// Compares what was staged with what lies there now. Nothing may run in it any more.
    ///
    /// What was changed by somebody else since the run began is left out, and so is what is protected, what no rule could name, and
    /// what is neither file nor directory nor symbolic link.
    ///
    /// # Errors
    /// Where it cannot be looked at, or is more than is looked at: then nothing is known of it.
    pub fn find_changes(&self) -> io::Result<StagedChanges> {
        comparison::find_changes(self, &ProtectedPaths::find(&self.profile)?)
    }

    /// Does what was shown to a person, path by path: nothing that is not as it was shown is touched. Of what the run left that a
    /// program of the host would run by itself, new hooks are put aside, as after any run.
    ///
    /// # Errors
    /// Where it cannot be said what is protected: then nothing was done.
    pub fn commit(&self, changes: &StagedChanges) -> io::Result<CommitResult> {
        commit::apply_changes(self, changes, &ProtectedPaths::find(&self.profile)?)
    }

    /// Reads at most so many bytes of the file that a change would replace.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read_before(&self, change: &StagedChange, most: u64) -> io::Result<Vec<u8>> {
        let root = self.find_root(change)?;
        read_prefix(tree::open_file(TreeOwner::Host, &root.directory, &change.relative_path)?, most)
    }

    /// Reads at most so many bytes of the file that a change would put there.
    ///
    /// # Errors
    /// When it cannot be read.
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
    /// Says whether a directory takes the place of something else, or something else its place.
    fn is_type_change(&self) -> bool {
        let directory = |thing: &Option<EntryState>| thing.as_ref().map(EntryState::is_directory);
        matches!((directory(&self.before), directory(&self.after)), (Some(a), Some(b)) if a != b)
    }
}
