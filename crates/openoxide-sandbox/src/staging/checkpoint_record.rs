//! The files of a checkpoint: its description, the changed entries, and their previous contents.

use std::{
    ffi::OsString,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, BufRead as _, BufReader},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use serde::{Deserialize, Serialize};

use crate::staging::{
    entry_state::EntryState, stage_record::RootRecord, staged_change::StagedChange,
};

const RECORD_NAME: &str = "checkpoint.json";
const NEW_RECORD_NAME: &str = "checkpoint.json.new";
const ENTRIES_NAME: &str = "entries.jsonl";
const CONTENTS_NAME: &str = "contents";

/// The description of a checkpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CheckpointRecord {
    pub(super) command: String,
    pub(super) cwd: AbsPath,
    /// Milliseconds since 1970, so that runs of the same second have an order.
    pub(super) created_at: u64,
    pub(super) profile: SandboxRestrictions,
    pub(super) roots: Vec<RootRecord>,
    /// The checkpoint whose changes were undone.
    pub(super) undo_of: Option<String>,
    /// True if the changes were undone.
    pub(super) is_undone: bool,
    /// The process that makes the changes. `None` when they are complete.
    pub(super) process: Option<u32>,
    pub(super) change_count: usize,
    /// The number of bytes of the previous contents.
    pub(super) size: u64,
    /// The number of files whose previous content was not kept.
    pub(super) uncovered_count: usize,
}

/// One line of the list of entries.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum EntryLine {
    /// An entry is about to be changed.
    Change(Box<CheckpointEntry>),
    /// The last entry was not changed.
    Cancelled,
}

/// An entry that a run has changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct CheckpointEntry {
    pub(super) path: AbsPath,
    pub(super) root_index: usize,
    relative_path: OsString,
    pub(super) before: Option<EntryState>,
    pub(super) after: Option<EntryState>,
    pub(super) same_content: bool,
    /// The number of the file with the previous content.
    pub(super) content: Option<u64>,
}

impl CheckpointEntry {
    pub(super) fn new(change: &StagedChange, content: Option<u64>) -> Self {
        Self {
            path: change.path.clone(),
            root_index: change.root_index,
            relative_path: change.relative_path.clone().into_os_string(),
            before: change.before.clone(),
            after: change.after.clone(),
            same_content: change.same_content,
            content,
        }
    }

    pub(super) fn relative_path(&self) -> PathBuf {
        PathBuf::from(&self.relative_path)
    }

    /// Returns whether the previous content is needed to take the change back.
    pub(super) fn needs_content(&self) -> bool {
        !self.same_content && self.before.as_ref().is_some_and(EntryState::is_file)
    }
}

impl CheckpointRecord {
    /// Creates the directory of a checkpoint with its description.
    pub(super) fn create(&self, directory: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(directory)?;
        DirBuilder::new().mode(0o700).create(directory.join(CONTENTS_NAME))?;
        self.write(directory)
    }

    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let text = fs::read(directory.join(RECORD_NAME))?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    /// Writes the description. A reader sees a complete one at any time.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        fs::write(directory.join(NEW_RECORD_NAME), text)?;
        fs::rename(directory.join(NEW_RECORD_NAME), directory.join(RECORD_NAME))
    }
}

/// Opens the list of entries for writing.
pub(super) fn create_entries(directory: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create_new(true).mode(0o600).open(directory.join(ENTRIES_NAME))
}

/// Reads the entries that were changed. A last line that is incomplete is about an entry that was
/// not changed.
pub(super) fn read_entries(directory: &Path) -> io::Result<Vec<CheckpointEntry>> {
    let mut entries = Vec::new();
    let file = match File::open(directory.join(ENTRIES_NAME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(entries),
        file => file?,
    };
    for line in BufReader::new(file).lines() {
        match serde_json::from_str(&line?) {
            Ok(EntryLine::Change(entry)) => entries.push(*entry),
            Ok(EntryLine::Cancelled) => drop(entries.pop()),
            Err(_) => break,
        }
    }
    Ok(entries)
}

/// Creates a file for a previous content.
pub(super) fn create_content(directory: &Path, number: u64) -> io::Result<File> {
    let path = content_path(directory, number);
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Returns the path of a previous content.
pub(super) fn content_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(CONTENTS_NAME).join(number.to_string())
}
