//! The finding about a directory that could not be searched, and paths as a person sees them.

use std::{os::unix::ffi::OsStrExt as _, path::Path};

use openoxide_protocol::AbsPath;

use crate::interface::PostRunFinding;

/// Returns a finding, or `None` if the path cannot be displayed.
pub(crate) fn unsearched_finding(path: &Path) -> Option<PostRunFinding> {
    to_display_path(path).map(|path| PostRunFinding::UnsearchedDirectory { path })
}

/// Returns the path as it is shown to a person. Bytes that are not valid UTF-8 are replaced.
pub(crate) fn to_display_path(path: &Path) -> Option<AbsPath> {
    AbsPath::new(&String::from_utf8_lossy(path.as_os_str().as_bytes())).ok()
}
