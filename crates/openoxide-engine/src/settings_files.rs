//! Reading the settings files of a project.

use std::{fs, io::ErrorKind, path::Path};

use openoxide_store::read_regular_file;

/// The maximum number of bytes of a file that are searched. A longer file could contain anything.
pub(crate) const MAX_FILE_BYTES: usize = 64 * 1024;

/// Returns whether a path is a link whose target has another name or is unknown.
pub(crate) fn leads_to_other_name(path: &Path) -> bool {
    if !fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return false;
    }
    match fs::canonicalize(path) {
        Ok(real) => real.file_name() != path.file_name(),
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Returns the text of a file that is not too long.
pub(crate) fn read_short(path: &Path) -> Option<String> {
    let text = read_regular_file(path, MAX_FILE_BYTES as u64).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}
