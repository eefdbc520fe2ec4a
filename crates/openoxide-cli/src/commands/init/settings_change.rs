//! A change of a settings file.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use openoxide_store::{FileReadError, policy_edit::replace_file};
use openoxide_tui::{LineMode, escape_text};

use crate::{
    commands::confirmation::file_diff,
    error::file_error::{FileError, FileProblem},
};

/// A change of a settings file that may not have been made yet.
pub(super) struct SettingsChange {
    path: PathBuf,
    before: String,
    after: String,
}

impl SettingsChange {
    /// Reads a file and computes its new content. A missing file is empty.
    pub(super) fn from_file(
        path: PathBuf,
        change: impl FnOnce(&str) -> Result<String, FileProblem>,
    ) -> Result<Self, FileError> {
        let before = read_settings(&path)?;
        let after = change(&before).map_err(|problem| FileError::new(&path, problem))?;
        Ok(Self { path, before, after })
    }

    /// Returns a change of a file that was read.
    pub(super) const fn new(path: PathBuf, before: String, after: String) -> Self {
        Self { path, before, after }
    }

    /// Returns whether the file is changed.
    pub(super) fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// Returns the content that was read.
    pub(super) fn before(&self) -> &str {
        &self.before
    }

    /// Returns the new content.
    pub(super) fn after(&self) -> &str {
        &self.after
    }

    /// Writes the file, if it is changed, and if no other program has changed it in the meantime.
    pub(super) fn apply(&self) -> Result<(), FileError> {
        if !self.is_change() {
            return Ok(());
        }
        if read_settings(&self.path)? != self.before {
            return Err(FileError::new(&self.path, FileProblem::ChangedMeanwhile));
        }
        replace_file(&self.path, &self.after)
            .map_err(|error| FileError::new(&self.path, FileProblem::Unwritable(error)))
    }

    /// Returns the change as a unified diff.
    pub(super) fn to_diff(&self) -> String {
        escape_text(&file_diff(&self.path, &self.before, &self.after), LineMode::MultiLine)
    }

    /// Returns the path of the file, for a message.
    pub(super) fn display_path(&self) -> String {
        escape_text(&self.path.to_string_lossy(), LineMode::SingleLine)
    }
}

fn read_settings(path: &Path) -> Result<String, FileError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| FileError::new(path, FileReadError::Io(error))),
    }
}
