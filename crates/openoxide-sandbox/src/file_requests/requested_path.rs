//! A path in the arguments of a suspended system call.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt as _, path::PathBuf};

use rustix::io::Errno;

use crate::seccomp::PendingSyscall;

/// A file in the arguments of a call.
#[derive(Debug)]
pub(crate) struct RequestedPath {
    /// The path. A relative path is joined to its base directory.
    pub(super) path: PathBuf,
}

impl RequestedPath {
    pub(super) fn from_argument(
        call: &PendingSyscall<'_>,
        base: i32,
        path: usize,
    ) -> Result<Self, Errno> {
        let path = call.read_path(path)?;
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT);
        }
        let path = if path.is_absolute() { path } else { call.base_directory(base)?.join(path) };
        Ok(Self { path })
    }

    /// Removes trailing slashes, which the name of a directory may have.
    pub(super) fn strip_trailing_slashes(self) -> Self {
        let bytes = self.path.as_os_str().as_bytes();
        let length = bytes.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
        let path = bytes.get(..length).unwrap_or_default();
        Self { path: OsStr::from_bytes(path).into() }
    }
}
