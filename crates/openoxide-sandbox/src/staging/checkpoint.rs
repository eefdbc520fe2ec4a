//! Checkpoints: what a run has changed, with the previous versions, so that it can be undone.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::{Component, Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::{
    fs::{AtFlags, fstat, statat},
    io::Errno,
};

use crate::{
    protected_paths::{ProtectedPaths, with_access},
    staging::{
        change_source::ChangeSource,
        checkpoint_record::{CheckpointEntry, CheckpointRecord, content_path, read_entries},
        checkpoint_writer::{CheckpointWriter, CheckpointedCommit, NewCheckpoint, checkpoint_root},
        commit::apply_changes,
        entry_state::{EntryState, FileTime},
        interrupted_commit::remove_temporary_names,
        stage_record::RootRecord,
        staged_change::{SkippedChange, StagedChange, StagedChanges},
        tree::{self, TreeOwner, open_below},
    },
};

const CHANGED_REASON: &str = "was changed after the run";
const UNCOVERED_REASON: &str = "was too large: its previous version was not kept";

/// A checkpoint as it is listed.
#[derive(Clone, Debug)]
pub struct CheckpointSummary {
    /// The name.
    pub id: String,
    /// The command whose changes can be undone.
    pub command: String,
    /// The working directory of the command.
    pub cwd: AbsPath,
    /// The time of the changes, in milliseconds since 1970.
    pub created_at: u64,
    /// The checkpoint whose changes were undone here.
    pub undo_of: Option<String>,
    /// True if the changes were undone.
    pub is_undone: bool,
    /// True if the process that made the changes was killed.
    pub is_interrupted: bool,
    /// The number of changed entries.
    pub change_count: usize,
    /// The number of bytes of the previous versions.
    pub size: u64,
    /// The number of files whose previous version was not kept.
    pub uncovered_count: usize,
}

/// A checkpoint whose changes can be undone.
#[derive(Debug)]
pub struct Checkpoint {
    registry: PathBuf,
    id: String,
    directory: PathBuf,
    record: CheckpointRecord,
    roots: Vec<(PathBuf, OwnedFd)>,
    contents: BTreeMap<(usize, PathBuf), u64>,
    entries: Vec<CheckpointEntry>,
}

/// Returns the checkpoints of this user, oldest first.
///
/// # Errors
/// Returns an error if their directory cannot be read.
pub fn list_checkpoints(registry: &AbsPath) -> io::Result<Vec<CheckpointSummary>> {
    let home = checkpoint_root(Path::new(registry.as_str()));
    if !home.is_dir() {
        return Ok(Vec::new());
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(&home)? {
        all.extend(read_summary(&entry?.path()));
    }
    all.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
    Ok(all)
}

fn read_summary(directory: &Path) -> Option<CheckpointSummary> {
    let record = CheckpointRecord::read(directory).ok()?;
    let interrupted = record.process.is_some_and(|process| !is_running(process));
    Some(CheckpointSummary {
        id: directory.file_name()?.to_str()?.to_owned(),
        command: record.command,
        cwd: record.cwd,
        created_at: record.created_at,
        undo_of: record.undo_of,
        is_undone: record.is_undone,
        is_interrupted: interrupted,
        change_count: record.change_count,
        size: record.size,
        uncovered_count: record.uncovered_count,
    })
}

fn is_running(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

/// Removes the oldest checkpoints until the others, and at least the newest, are within the limit.
/// Returns the names of the removed ones.
///
/// # Errors
/// Returns an error if the checkpoints cannot be read or removed.
pub fn remove_excess_checkpoints(registry: &AbsPath, max_bytes: u64) -> io::Result<Vec<String>> {
    const MAX_CHECKPOINTS: usize = 100;
    let home = checkpoint_root(Path::new(registry.as_str()));
    let (mut bytes, mut removed) = (0_u64, Vec::new());
    for (number, checkpoint) in list_checkpoints(registry)?.into_iter().rev().enumerate() {
        bytes = bytes.saturating_add(checkpoint.size);
        if number > 0 && (number >= MAX_CHECKPOINTS || bytes > max_bytes) {
            tree::remove_tree(&home.join(&checkpoint.id))?;
            removed.push(checkpoint.id);
        }
    }
    Ok(removed)
}

/// Removes the temporary files of processes that were killed while they made changes. Returns their
/// checkpoints.
///
/// # Errors
/// Returns an error if the checkpoints cannot be read.
pub fn recover_checkpoints(registry: &AbsPath) -> io::Result<Vec<CheckpointSummary>> {
    let all = list_checkpoints(registry)?.into_iter().filter(|one| one.is_interrupted);
    let interrupted: Vec<_> = all.collect();
    for one in &interrupted {
        // A project that no longer exists has no temporary files.
        if let Ok(checkpoint) = Checkpoint::open(registry, &one.id) {
            checkpoint.remove_temporary_entries()?;
        }
        let directory = checkpoint_root(Path::new(registry.as_str())).join(&one.id);
        let record = CheckpointRecord::read(&directory)?;
        CheckpointRecord { process: None, ..record }.write(&directory)?;
    }
    Ok(interrupted)
}

impl Checkpoint {
    /// Removes what the process that made the changes has left under temporary names.
    fn remove_temporary_entries(&self) -> io::Result<()> {
        let Some(process) = self.record.process else { return Ok(()) };
        let mut parents = BTreeSet::new();
        for entry in &self.entries {
            let relative = entry.relative_path();
            let parent = relative.parent().unwrap_or(Path::new("")).to_owned();
            let is_new = parents.insert((entry.root_index, parent.clone()));
            if let (Some((_, root)), true) = (self.roots.get(entry.root_index), is_new) {
                // A directory that does not exist contains nothing.
                if let Ok(directory) = tree::open_directory(TreeOwner::Host, root, &parent) {
                    remove_temporary_names(directory, process)?;
                }
            }
        }
        Ok(())
    }

    /// Opens a checkpoint.
    ///
    /// # Errors
    /// Returns an error if it cannot be read, or if a directory that the run has changed was
    /// replaced in the meantime.
    pub fn open(registry: &AbsPath, id: &str) -> io::Result<Self> {
        let registry = PathBuf::from(registry.as_str());
        let is_name = !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_name {
            return Err(io::Error::new(io::ErrorKind::NotFound, format!("no checkpoint `{id}`")));
        }
        let directory = checkpoint_root(&registry).join(id);
        let record = CheckpointRecord::read(&directory)?;
        let root = |root: &RootRecord| {
            let path = root.path();
            let opened = tree::open_root(&path)?;
            if fstat(&opened)?.st_ino != root.inode {
                let text =
                    format!("`{}` is not the directory that the run changed", path.display());
                return Err(io::Error::other(text));
            }
            Ok((path, opened))
        };
        let roots = record.roots.iter().map(root).collect::<io::Result<_>>()?;
        let entries = read_entries(&directory)?;
        let content = |entry: &CheckpointEntry| {
            Some(((entry.root_index, entry.relative_path()), entry.content?))
        };
        let contents = entries.iter().filter_map(content).collect();
        Ok(Self { registry, id: id.to_owned(), directory, record, roots, contents, entries })
    }

    /// Returns the changes that undo those of the run. Skipped are entries that were changed
    /// after the run, and files whose previous version was not kept. Entries that are as they were
    /// before the run need no change.
    ///
    /// Objects of a git repository that existed before are not removed, because later objects can
    /// refer to them.
    ///
    /// # Errors
    /// Returns an error if the entries cannot be read.
    pub fn find_changes(&self) -> io::Result<StagedChanges> {
        let mut all = StagedChanges::default();
        for entry in self.entries.iter().filter(|entry| !self.is_git_object(entry)) {
            let now = self.current_state(entry)?;
            if is_same(now.as_ref(), entry.before.as_ref()) {
                continue;
            }
            let reason = if !is_same(now.as_ref(), entry.after.as_ref()) {
                CHANGED_REASON
            } else if entry.needs_content() && entry.content.is_none() {
                UNCOVERED_REASON
            } else {
                all.changes.push(entry.inverted(now));
                continue;
            };
            let path = self.root_path(entry.root_index).join(entry.relative_path());
            let path = path.to_string_lossy().into_owned();
            all.skipped.push(SkippedChange { path, reason: reason.to_owned() });
        }
        all.changes.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(all)
    }

    /// Undoes changes, and records that as another checkpoint.
    ///
    /// # Errors
    /// Returns an error if the new checkpoint cannot be created. No change was made then.
    pub fn undo(
        &mut self,
        changes: &StagedChanges,
        new: &NewCheckpoint<'_>,
    ) -> io::Result<CheckpointedCommit> {
        let new = NewCheckpoint { undo_of: Some(&self.id), ..new.clone() };
        let guarded = ProtectedPaths::find(&self.record.profile)?;
        let mut writer = CheckpointWriter::create(&self.registry, &new, self, changes)?;
        let commit = apply_changes(self, changes, &guarded, Some(&mut writer));
        let done = writer.finish(commit)?;
        self.set_undone(true)?;
        // An undo that is undone makes the first changes again.
        if let Some(first) = self.record.undo_of.clone() {
            let directory = checkpoint_root(&self.registry).join(first);
            if let Ok(record) = CheckpointRecord::read(&directory) {
                CheckpointRecord { is_undone: false, ..record }.write(&directory)?;
            }
        }
        Ok(done)
    }

    fn set_undone(&mut self, is_undone: bool) -> io::Result<()> {
        self.record.is_undone = is_undone;
        self.record.process = None;
        self.record.write(&self.directory)
    }

    fn root_path(&self, index: usize) -> &Path {
        self.roots.get(index).map_or(Path::new("/"), |(path, _)| path.as_path())
    }

    /// Returns the current state of an entry, or `None` if there is none or none of a type that is
    /// kept.
    fn current_state(&self, entry: &CheckpointEntry) -> io::Result<Option<EntryState>> {
        let relative = entry.relative_path();
        let (Some(parent), Some(name)) = (relative.parent(), relative.file_name()) else {
            return Ok(None);
        };
        let (_, root) = self.roots.get(entry.root_index).ok_or(io::ErrorKind::NotFound)?;
        let path = self.root_path(entry.root_index).join(&relative);
        let read = || {
            let directory = open_below(root, parent)
                .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
            let found = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
            Ok((directory, found))
        };
        match with_access(&path, read) {
            Ok((directory, found)) => EntryState::from_stat(&directory, name, &found),
            // A directory that does not exist, or is a link now, has no entries.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns whether an entry is a new object of a repository that existed before the run.
    fn is_git_object(&self, entry: &CheckpointEntry) -> bool {
        if entry.before.is_some() {
            return false;
        }
        let relative = entry.relative_path();
        let mut repository = PathBuf::new();
        let mut parts = relative.components();
        for part in parts.by_ref() {
            repository.push(part);
            if is_repository_name(part) {
                break;
            }
        }
        let is_new = self.entries.iter().any(|other| {
            other.before.is_none()
                && other.root_index == entry.root_index
                && other.relative_path() == repository
        });
        !is_new && parts.any(|part| part.as_os_str() == "objects")
    }
}

fn is_repository_name(part: Component<'_>) -> bool {
    part.as_os_str().as_encoded_bytes().ends_with(b".git")
}

/// Returns whether two states are equal, as far as a person would tell.
fn is_same(a: Option<&EntryState>, b: Option<&EntryState>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => a.kind == b.kind && a.has_same_metadata(b),
        _ => false,
    }
}

impl CheckpointEntry {
    fn inverted(&self, now: Option<EntryState>) -> StagedChange {
        StagedChange {
            path: self.path.clone(),
            before: now,
            after: self.before.clone(),
            same_content: self.same_content,
            root_index: self.root_index,
            relative_path: self.relative_path(),
        }
    }
}

impl ChangeSource for Checkpoint {
    fn is_undo(&self) -> bool {
        true
    }

    fn profile(&self) -> &SandboxRestrictions {
        &self.record.profile
    }

    fn roots(&self) -> Vec<(&Path, FileTime)> {
        let times = self.record.roots.iter().map(|root| root.started_at);
        self.roots.iter().map(|(path, _)| path.as_path()).zip(times).collect()
    }

    fn root_directory(&self, change: &StagedChange) -> io::Result<&OwnedFd> {
        let root = self.roots.get(change.root_index).ok_or(io::ErrorKind::NotFound)?;
        Ok(&root.1)
    }

    fn open_content(&self, change: &StagedChange) -> io::Result<File> {
        let key = (change.root_index, change.relative_path.clone());
        let number = self.contents.get(&key).ok_or(io::ErrorKind::NotFound)?;
        File::open(content_path(&self.directory, *number))
    }
}
