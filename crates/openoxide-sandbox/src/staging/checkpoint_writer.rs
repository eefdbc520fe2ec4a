//! Recording changes while they are made, so that they can be undone.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
};

use openoxide_protocol::AbsPath;
use rustix::fs::fstat;

use crate::{
    protected_paths::PlaceholderRegistry,
    staging::{
        change_source::ChangeSource,
        checkpoint_record::{
            CheckpointEntry, CheckpointRecord, EntryLine, create_content, create_entries,
        },
        commit_result::CommitResult,
        file_copy::copy_content,
        stage_record::{RootRecord, millis_now},
        staged_change::{StagedChange, StagedChanges},
        tree::{self, TreeOwner},
    },
};

/// The description of a checkpoint that is created.
#[derive(Clone, Debug)]
pub struct NewCheckpoint<'a> {
    /// The name.
    pub id: &'a str,
    /// The command whose changes are recorded.
    pub command: &'a str,
    /// Its working directory.
    pub cwd: &'a AbsPath,
    /// The maximum number of bytes of all checkpoints.
    pub max_bytes: u64,
    /// The checkpoint whose changes are undone.
    pub undo_of: Option<&'a str>,
}

/// The result of a commit with a checkpoint.
#[derive(Clone, Debug)]
pub struct CheckpointedCommit {
    /// The changes that were not made, and findings.
    pub commit: CommitResult,
    /// The number of changed entries.
    pub changed_count: usize,
    /// The number of files whose previous version was not kept.
    pub uncovered_count: usize,
}

/// A checkpoint that is being written.
#[derive(Debug)]
pub(super) struct CheckpointWriter {
    directory: PathBuf,
    record: CheckpointRecord,
    entries: File,
    next_content: u64,
    /// Files that are larger are not kept, so that as many files as possible are.
    largest_size: u64,
    max_bytes: u64,
}

/// Returns the directory of all checkpoints of this user.
pub(super) fn checkpoint_root(registry: &Path) -> PathBuf {
    let mut home = registry.as_os_str().to_owned();
    home.push("-checkpoints");
    home.into()
}

impl CheckpointWriter {
    pub(super) fn create(
        registry: &Path,
        new: &NewCheckpoint<'_>,
        source: &dyn ChangeSource,
        changes: &StagedChanges,
    ) -> io::Result<Self> {
        let home = checkpoint_root(registry);
        // Opening fails unless the directory belongs to the user.
        PlaceholderRegistry::open(&home)?;
        let root = |(path, started_at)| {
            let directory = tree::open_root(path)?;
            Ok(RootRecord::new(path, fstat(&directory)?.st_ino, started_at))
        };
        let record = CheckpointRecord {
            command: new.command.to_owned(),
            cwd: new.cwd.clone(),
            created_at: millis_now(),
            profile: source.profile().clone(),
            roots: source.roots().into_iter().map(root).collect::<io::Result<_>>()?,
            undo_of: new.undo_of.map(str::to_owned),
            is_undone: false,
            process: Some(process::id()),
            change_count: 0,
            size: 0,
            uncovered_count: 0,
        };
        let directory = home.join(new.id);
        record.create(&directory)?;
        Ok(Self {
            entries: create_entries(&directory)?,
            directory,
            record,
            next_content: 0,
            largest_size: largest_size(changes, new.max_bytes),
            max_bytes: new.max_bytes,
        })
    }

    /// Records a change before it is made, with the previous content.
    pub(super) fn add(
        &mut self,
        source: &dyn ChangeSource,
        change: &StagedChange,
    ) -> io::Result<()> {
        let content = match &change.before {
            Some(before) if before.is_file() && !change.same_content => {
                self.save_content(source, change, before.size())?
            }
            _ => None,
        };
        let entry = CheckpointEntry::new(change, content);
        self.record.uncovered_count += usize::from(entry.needs_content() && content.is_none());
        self.record.change_count += 1;
        self.write_line(&EntryLine::Change(Box::new(entry)))
    }

    /// Records that the last change was not made.
    pub(super) fn cancel(&mut self) -> io::Result<()> {
        self.record.change_count = self.record.change_count.saturating_sub(1);
        self.write_line(&EntryLine::Cancelled)
    }

    fn write_line(&mut self, line: &EntryLine) -> io::Result<()> {
        let mut text = serde_json::to_vec(line).map_err(io::Error::other)?;
        text.push(b'\n');
        self.entries.write_all(&text)
    }

    fn save_content(
        &mut self,
        source: &dyn ChangeSource,
        change: &StagedChange,
        size: u64,
    ) -> io::Result<Option<u64>> {
        if size > self.largest_size || self.record.size + size > self.max_bytes {
            return Ok(None);
        }
        let root = source.root_directory(change)?;
        let old = tree::open_file(TreeOwner::Staged, root, &change.relative_path)?;
        let number = self.next_content;
        copy_content(&old, &create_content(&self.directory, number)?)?;
        self.next_content += 1;
        self.record.size += size;
        Ok(Some(number))
    }

    /// Completes the checkpoint. One without changes is removed.
    pub(super) fn finish(mut self, commit: CommitResult) -> io::Result<CheckpointedCommit> {
        let (changed_count, uncovered_count) =
            (self.record.change_count, self.record.uncovered_count);
        if changed_count == 0 {
            fs::remove_dir_all(&self.directory)?;
        } else {
            self.record.process = None;
            self.record.write(&self.directory)?;
        }
        Ok(CheckpointedCommit { commit, changed_count, uncovered_count })
    }
}

/// Returns the size up to which all previous contents together are within the limit.
fn largest_size(changes: &StagedChanges, max_bytes: u64) -> u64 {
    let replaced = |change: &StagedChange| {
        change
            .before
            .as_ref()
            .filter(|before| before.is_file() && !change.same_content)
            .map(|before| before.size())
    };
    let mut sizes: Vec<u64> = changes.changes.iter().filter_map(replaced).collect();
    sizes.sort_unstable();
    let mut sum = 0_u64;
    let fits = |size: &u64| {
        sum = sum.saturating_add(*size);
        sum <= max_bytes
    };
    sizes.iter().copied().take_while(fits).last().unwrap_or(0)
}
