//! Changes that are committed, whatever stores their contents.

use std::{fs::File, io, os::fd::OwnedFd, path::Path};

use openoxide_protocol::SandboxRestrictions;

use crate::staging::{entry_state::FileTime, staged_change::StagedChange};

/// The contents of changes, and the directories that are changed.
pub(super) trait ChangeSource {
    /// Returns the restrictions of the run. Nothing outside of them is changed.
    fn profile(&self) -> &SandboxRestrictions;

    /// Returns the writable directories, with the time at which each was staged.
    fn roots(&self) -> Vec<(&Path, FileTime)>;

    /// Returns the writable directory that contains the path of a change.
    ///
    /// # Errors
    /// Returns an error if the change is about no directory of this source.
    fn root_directory(&self, change: &StagedChange) -> io::Result<&OwnedFd>;

    /// Opens the content of a file that a change writes.
    ///
    /// # Errors
    /// Returns an error if the content cannot be read.
    fn open_content(&self, change: &StagedChange) -> io::Result<File>;

    /// Returns whether the changes undo those of an earlier run.
    fn is_undo(&self) -> bool {
        false
    }
}
