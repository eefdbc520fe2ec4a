//! The identity of a directory that a later directory at the same path does not have.

use std::{fs, os::unix::fs::MetadataExt as _, time::UNIX_EPOCH};

use openoxide_protocol::AbsPath;

/// Returns the identity of the directory that a path leads to: its inode number and its creation
/// time, which no program can set. If the file system does not record the creation time, the device
/// number is used instead. Returns an empty text if there is no such directory.
#[must_use]
pub fn directory_identity(path: &AbsPath) -> String {
    let Ok(found) = fs::metadata(path.as_str()) else { return String::new() };
    let created = found.created().ok().and_then(|created| created.duration_since(UNIX_EPOCH).ok());
    match created {
        Some(created) => format!("{}/{}", found.ino(), created.as_nanos()),
        None => format!("{}/on {}", found.ino(), found.dev()),
    }
}
