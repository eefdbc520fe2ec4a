//! The staging area of a run: the overlays of its writable directories.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    fs::File,
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use crate::{
    interface::{SandboxError, SetupContext as _},
    protected_paths::outermost_roots,
    staging::{
        change_source::ChangeSource,
        entry_state::FileTime,
        stage_directory::{self, OverlayLayer, StageDirectory},
        staged_change::StagedChange,
        tree::{self, TreeOwner},
    },
};

/// The staged changes of a run. Dropping it removes them. After a crash, the supervisor of the next
/// run removes them.
#[derive(Debug)]
#[must_use = "what was staged is gone when this is dropped"]
pub struct StagingArea {
    pub(super) profile: SandboxRestrictions,
    pub(super) roots: Vec<StagedRoot>,
    pub(super) directory: StageDirectory,
    /// The previous modes, by inode number, of directories that the program made inaccessible and
    /// that were made accessible for the comparison.
    pub(super) closed_modes: RefCell<BTreeMap<u64, u32>>,
}

/// One writable directory.
#[derive(Debug)]
pub(super) struct StagedRoot {
    pub(super) path: PathBuf,
    /// The directory itself, opened so that later changes of its path do not matter.
    pub(super) directory: OwnedFd,
    pub(super) upper: OwnedFd,
    /// The time at which it was staged, according to the clock of its file system.
    pub(super) started_at: FileTime,
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
        let place = place.with_step(|| "creating the stage directory".to_owned())?;
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

    /// Returns the directory, for
    /// [`LaunchConfig::staging_directory`](crate::LaunchConfig::staging_directory).
    ///
    /// # Errors
    /// Returns an error if the path is not valid UTF-8.
    pub fn directory(&self) -> Result<AbsPath, SandboxError> {
        let path = self.directory.path().to_str().ok_or(io::ErrorKind::InvalidFilename);
        let path = path.map_err(io::Error::from);
        path.and_then(|path| AbsPath::new(path).map_err(io::Error::other))
            .with_step(|| "naming the stage directory".to_owned())
    }

    fn find_root(&self, change: &StagedChange) -> io::Result<&StagedRoot> {
        self.roots.get(change.root_index).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl ChangeSource for StagingArea {
    fn profile(&self) -> &SandboxRestrictions {
        &self.profile
    }

    fn roots(&self) -> Vec<(&Path, FileTime)> {
        self.roots.iter().map(|root| (root.path.as_path(), root.started_at)).collect()
    }

    fn root_directory(&self, change: &StagedChange) -> io::Result<&OwnedFd> {
        Ok(&self.find_root(change)?.directory)
    }

    fn open_content(&self, change: &StagedChange) -> io::Result<File> {
        tree::open_file(TreeOwner::Staged, &self.find_root(change)?.upper, &change.relative_path)
    }
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
