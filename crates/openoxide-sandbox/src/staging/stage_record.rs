//! The description of staged changes that wait for a decision. A staging area with a description is
//! kept when its run ends.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use serde::{Deserialize, Serialize};

use crate::staging::entry_state::FileTime;

/// The name of the description in a staging directory.
const RECORD_NAME: &str = "stage.json";
const NEW_RECORD_NAME: &str = "stage.json.new";

/// The time in seconds after which staged changes are removed.
const MAX_WAITING_SECONDS: u64 = 7 * 24 * 60 * 60;

/// The description of a staging area.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StageRecord {
    pub(super) command: String,
    pub(super) cwd: AbsPath,
    /// Seconds since 1970.
    pub(super) created_at: u64,
    pub(super) profile: SandboxRestrictions,
    pub(super) roots: Vec<RootRecord>,
    /// The modes of directories that were made accessible, by inode number.
    pub(super) closed_modes: BTreeMap<u64, u32>,
    /// The number of changes, and the bytes that they occupy.
    pub(super) change_count: usize,
    pub(super) size: u64,
    /// The process that commits the changes.
    pub(super) committing_process: Option<u32>,
}

/// The description of a writable directory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct RootRecord {
    path: OsString,
    pub(super) inode: u64,
    pub(super) started_at: FileTime,
}

impl RootRecord {
    pub(super) fn new(path: &Path, inode: u64, started_at: FileTime) -> Self {
        Self { path: path.as_os_str().to_owned(), inode, started_at }
    }

    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(&self.path)
    }
}

impl StageRecord {
    /// Reads the description of a staging directory.
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let text = fs::read(directory.join(RECORD_NAME))?;
        serde_json::from_slice(&text).map_err(io::Error::other)
    }

    /// Returns the time at which the description was written.
    pub(super) fn written_at(directory: &Path) -> Option<SystemTime> {
        fs::metadata(directory.join(RECORD_NAME)).ok()?.modified().ok()
    }

    /// Writes the description. A reader sees a complete one at any time.
    pub(super) fn write(&self, directory: &Path) -> io::Result<()> {
        let text = serde_json::to_vec(self).map_err(io::Error::other)?;
        fs::write(directory.join(NEW_RECORD_NAME), text)?;
        fs::rename(directory.join(NEW_RECORD_NAME), directory.join(RECORD_NAME))
    }

    /// Returns whether the changes have waited too long.
    pub(super) fn is_expired(&self) -> bool {
        seconds_now().saturating_sub(self.created_at) > MAX_WAITING_SECONDS
    }

    /// Returns whether a staging directory that no process uses is kept. A description of another
    /// version is not removed.
    pub(super) fn is_kept(directory: &Path) -> bool {
        match Self::read(directory) {
            Ok(record) => !record.is_expired(),
            Err(_) => Self::exists(directory),
        }
    }

    /// Returns whether a staging directory has a description.
    pub(super) fn exists(directory: &Path) -> bool {
        directory.join(RECORD_NAME).exists()
    }

    /// Removes the description, so that the changes are removed with the staging area.
    pub(super) fn remove(directory: &Path) -> io::Result<()> {
        match fs::remove_file(directory.join(RECORD_NAME)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the current time in seconds since 1970.
pub(super) fn seconds_now() -> u64 {
    millis_now() / 1000
}

/// Returns the current time in milliseconds since 1970.
pub(super) fn millis_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
