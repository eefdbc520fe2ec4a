//! The directories for temporary files, of which each run has its own.

use openoxide_protocol::AbsPath;

/// The directories where programs put temporary files.
pub(super) const TEMPORARY_DIRECTORIES: &[&str] = &["/tmp", "/var/tmp"];

/// Returns whether a path is in a directory for temporary files, of which each run has its own.
#[must_use]
pub fn is_temporary(path: &AbsPath) -> bool {
    TEMPORARY_DIRECTORIES
        .iter()
        .any(|place| path.as_str().strip_prefix(place).is_some_and(|rest| rest.starts_with('/')))
}
