//! Staged changes that wait for a decision: finding, opening and limiting them.

use std::{cell::RefCell, fs, io, path::Path};

use openoxide_protocol::AbsPath;
use rustix::fs::fstat;

use crate::staging::{
    interrupted_commit::remove_temporary_entries,
    stage_directory::{OverlayLayer, StageDirectory, staging_root},
    stage_record::{RootRecord, StageRecord, seconds_now},
    staged_change::StagedChanges,
    staging_area::{StagedRoot, StagingArea},
    tree,
};

/// The maximum number of waiting stages of a user, and the bytes that they may occupy.
const MAX_WAITING: usize = 20;
const MAX_WAITING_BYTES: u64 = 4 << 30;
/// Staged changes that wait for a decision.
#[derive(Clone, Debug)]
pub struct WaitingStage {
    /// The name of the stage.
    pub id: String,
    /// The command that has made the changes.
    pub command: String,
    /// The working directory of the command.
    pub cwd: AbsPath,
    /// The time at which the changes were staged, in seconds since 1970.
    pub created_at: u64,
    /// The number of changes.
    pub change_count: usize,
    /// The number of bytes that the changes occupy.
    pub size: u64,
    /// True if the process that committed the changes was killed.
    pub is_interrupted: bool,
    is_expired: bool,
}

impl StagingArea {
    /// Returns the name of the stage, by which it can be opened again.
    #[must_use]
    pub fn id(&self) -> String {
        self.directory.id()
    }

    /// Keeps the changes when this value is dropped, until they are committed or removed.
    ///
    /// # Errors
    /// Returns an error if their description cannot be written.
    pub fn keep(&self, changes: &StagedChanges, command: &str, cwd: &AbsPath) -> io::Result<()> {
        let root = |root: &StagedRoot| {
            let inode = fstat(&root.directory)?.st_ino;
            Ok(RootRecord::new(&root.path, inode, root.started_at))
        };
        let old = StageRecord::read(self.directory.path()).ok();
        let record = StageRecord {
            command: command.to_owned(),
            cwd: cwd.clone(),
            created_at: old.map_or_else(seconds_now, |old| old.created_at),
            profile: self.profile.clone(),
            roots: self.roots.iter().map(root).collect::<io::Result<_>>()?,
            closed_modes: self.closed_modes.borrow().clone(),
            change_count: changes.changes.len() + changes.skipped.len(),
            size: changes
                .changes
                .iter()
                .filter_map(|change| change.after.as_ref())
                .map(|after| after.size())
                .sum(),
            committing_process: None,
        };
        record.write(self.directory.path())
    }

    /// Removes the changes when this value is dropped.
    ///
    /// # Errors
    /// Returns an error if their description cannot be removed.
    pub fn discard(&self) -> io::Result<()> {
        StageRecord::remove(self.directory.path())
    }

    /// Opens a waiting stage. If the process that committed it was killed, its temporary files are
    /// removed first.
    ///
    /// # Errors
    /// Returns an error if the stage does not exist, if another process uses it, or if a writable
    /// directory was replaced in the meantime.
    pub fn open(registry: &AbsPath, id: &str) -> io::Result<Self> {
        let directory = StageDirectory::open(Path::new(registry.as_str()), id)?;
        let record = StageRecord::read(directory.path())?;
        let roots = record.roots.iter().enumerate().map(|(number, root)| {
            StagedRoot::open(root, &OverlayLayer::new(directory.path(), number))
        });
        let stage = Self {
            profile: record.profile.clone(),
            roots: roots.collect::<io::Result<_>>()?,
            closed_modes: RefCell::new(record.closed_modes.clone()),
            directory,
        };
        if let Some(process) = record.committing_process {
            remove_temporary_entries(&stage, process)?;
            let record = StageRecord { committing_process: None, ..record };
            record.write(stage.directory.path())?;
        }
        Ok(stage)
    }

    /// Records that this process commits the changes, or that it has ended doing so. Without a
    /// description there is nothing to record.
    pub(super) fn set_committing(&self, process: Option<u32>) -> io::Result<()> {
        match StageRecord::read(self.directory.path()) {
            Ok(record) => {
                StageRecord { committing_process: process, ..record }.write(self.directory.path())
            }
            Err(_) => Ok(()),
        }
    }
}

impl StagedRoot {
    fn open(record: &RootRecord, layer: &OverlayLayer) -> io::Result<Self> {
        let path = record.path();
        let directory = tree::open_root(&path)?;
        if fstat(&directory)?.st_ino != record.inode {
            let text =
                format!("`{}` is not the directory that the command changed", path.display());
            return Err(io::Error::other(text));
        }
        let upper = tree::open_root(&layer.upper)?;
        Ok(Self { path, directory, upper, started_at: record.started_at })
    }
}

/// Returns the waiting stages of this user, newest first.
///
/// # Errors
/// Returns an error if their directory cannot be read.
pub fn list_waiting_stages(registry: &AbsPath) -> io::Result<Vec<WaitingStage>> {
    let home = staging_root(Path::new(registry.as_str()));
    if !home.is_dir() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(&home)? {
        let directory = entry?.path();
        // The order of stages that were created in the same second.
        let written_at = StageRecord::written_at(&directory);
        all.extend(read_stage(&directory).map(|stage| (stage.created_at, written_at, stage)));
    }
    all.sort_by(|a, b| (b.0, b.1, &a.2.id).cmp(&(a.0, a.1, &b.2.id)));
    Ok(all.into_iter().map(|(.., stage)| stage).collect())
}

fn read_stage(directory: &Path) -> Option<WaitingStage> {
    let record = StageRecord::read(directory).ok()?;
    let interrupted = record.committing_process.is_some()
        && fs::File::open(directory).is_ok_and(|opened| opened.try_lock().is_ok());
    Some(WaitingStage {
        is_expired: record.is_expired(),
        id: directory.file_name()?.to_str()?.to_owned(),
        command: record.command,
        cwd: record.cwd,
        created_at: record.created_at,
        change_count: record.change_count,
        size: record.size,
        is_interrupted: interrupted,
    })
}

/// Removes the oldest waiting stages beyond the limits, except for the newest one. Returns the
/// names of the removed ones.
///
/// # Errors
/// Returns an error if the stages cannot be read or removed.
pub fn remove_excess_stages(registry: &AbsPath) -> io::Result<Vec<String>> {
    let all = list_waiting_stages(registry)?;
    let (mut count, mut bytes, mut removed) = (0, 0_u64, Vec::new());
    for stage in all {
        count += 1;
        bytes = bytes.saturating_add(stage.size);
        let is_over = count > MAX_WAITING || bytes > MAX_WAITING_BYTES || stage.is_expired;
        if is_over && count > 1 && remove_stage(Path::new(registry.as_str()), &stage.id).is_ok() {
            removed.push(stage.id);
        }
    }
    Ok(removed)
}

fn remove_stage(registry: &Path, id: &str) -> io::Result<()> {
    let directory = StageDirectory::open(registry, id)?;
    StageRecord::remove(directory.path())
}

/// Removes a waiting stage, without reading its changes.
///
/// # Errors
/// Returns an error if it does not exist, or if another process uses it.
pub fn drop_waiting_stage(registry: &AbsPath, id: &str) -> io::Result<()> {
    remove_stage(Path::new(registry.as_str()), id)
}
