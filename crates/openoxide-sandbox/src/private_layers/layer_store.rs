//! The layers of all projects: their sizes, and their removal.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use openoxide_protocol::AbsPath;

use crate::{
    private_layers::{
        layer_lease::lock_layers,
        layer_paths::{layer_root, unescape},
    },
    staging::remove_tree,
};

/// Layers that no run has used for this time are removed.
const MAX_AGE: Duration = Duration::from_hours(30 * 24);
/// The maximum size of all layers. Those that were not used for the longest time are removed.
const MAX_TOTAL_BYTES: u64 = 10 << 30;
/// The interval between searches for layers to remove.
const EVICTION_INTERVAL: Duration = Duration::from_hours(24);
/// A file whose time is that of the last search.
const EVICTION_MARK: &str = ".last-eviction";

/// The stored changes of one project.
#[derive(Clone, Debug)]
pub struct ProjectLayers {
    /// The project.
    pub project: PathBuf,
    /// The space on the disk, or `None` if a run is changing it.
    pub bytes: Option<u64>,
    /// The start of the last run that used them.
    pub last_used: SystemTime,
    directory: PathBuf,
}

/// Returns the layers of all projects, the one that was used last first.
///
/// # Errors
/// Returns an error if the directory of the layers cannot be read.
pub fn list_project_layers(registry: &AbsPath) -> io::Result<Vec<ProjectLayers>> {
    let root = layer_root(Path::new(registry.as_str()));
    let entries = match fs::read_dir(&root) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut all = Vec::new();
    for entry in entries {
        let entry = entry?;
        let found = entry.metadata()?;
        let project = entry.file_name().to_str().and_then(unescape);
        let (true, Some(project)) = (found.is_dir(), project) else { continue };
        let directory = entry.path();
        let bytes = lock_layers(&directory).ok().map(|_lock| disk_usage(&directory));
        all.push(ProjectLayers { project, bytes, last_used: found.modified()?, directory });
    }
    all.sort_by_key(|layers| std::cmp::Reverse(layers.last_used));
    Ok(all)
}

/// Removes old layers, and layers beyond the total size, once a day. Errors are left to the next
/// search.
pub(crate) fn evict_layers(registry: &AbsPath) {
    let mark = layer_root(Path::new(registry.as_str())).join(EVICTION_MARK);
    let last = fs::symlink_metadata(&mark).and_then(|found| found.modified());
    let recent = |time: SystemTime| time.elapsed().is_ok_and(|age| age < EVICTION_INTERVAL);
    if last.is_ok_and(recent) || fs::write(&mark, "").is_err() {
        return;
    }
    let Ok(all) = list_project_layers(registry) else { return };
    let mut total = 0_u64;
    for layers in all {
        total = total.saturating_add(layers.bytes.unwrap_or_default());
        let old = layers.last_used.elapsed().is_ok_and(|age| age > MAX_AGE);
        if old || total > MAX_TOTAL_BYTES {
            drop(layers.remove());
        }
    }
}

impl ProjectLayers {
    /// Removes the layers. Returns false, and leaves them as they are, if a run uses them.
    ///
    /// # Errors
    /// Returns an error if they cannot be removed.
    pub fn remove(&self) -> io::Result<bool> {
        match lock_layers(&self.directory) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
            Ok(_lock) => remove_tree(&self.directory).map(|()| true),
        }
    }
}

/// Returns the space that a directory uses on the disk. Links are not followed. Directories that
/// cannot be read are left out.
fn disk_usage(directory: &Path) -> u64 {
    let (mut bytes, mut left) = (0_u64, vec![directory.to_owned()]);
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            bytes = bytes.saturating_add(found.blocks().saturating_mul(512));
            if found.is_dir() {
                left.push(entry.path());
            }
        }
    }
    bytes
}
