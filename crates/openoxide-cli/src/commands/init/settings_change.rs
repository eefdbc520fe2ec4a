//! A change of a settings file.

use std::{fs, io, path::PathBuf};

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
        let before = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            read => read.map_err(|error| FileError::new(&path, FileReadError::Io(error)))?,
        };
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

    /// Writes the file, if it is changed.
    pub(super) fn apply(&self) -> Result<(), FileError> {
        if !self.is_change() {
            return Ok(());
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
