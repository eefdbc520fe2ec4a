//! The configuration files of which a program changes a private copy.

use std::{
    fs::File,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags, open};

use crate::protected_paths::git_config::{MAX_FILE_BYTES, config_changes::find_risky_changes};

/// The state of a configuration file before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PrivateConfig {
    /// The file on the host.
    pub(crate) path: PathBuf,
    /// Its content before the run.
    pub(crate) text: Vec<u8>,
    /// Its permissions.
    pub(crate) mode: u32,
}

impl PrivateConfig {
    /// Reads the file. Returns `None` if it cannot be read or is not a regular file.
    pub(crate) fn read(path: &Path) -> Option<Self> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(open(path, flags, Mode::empty()).ok()?);
        let mode = file.metadata().ok()?.permissions().mode() & 0o777;
        Some(Self { path: path.to_owned(), text: read_config_text(file)?, mode })
    }
}

impl PrivateConfig {
    /// Returns whether the file may be changed from one content to another without a question.
    pub(crate) fn is_harmless_change(&self, before: &[u8], after: &[u8]) -> bool {
        find_risky_changes(before, after, &self.path).is_some_and(|risky| risky.is_empty())
    }
}

/// Reads an open configuration file. Returns `None` if it is not a regular file or is too long.
pub(crate) fn read_config_text(file: File) -> Option<Vec<u8>> {
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    let length = file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text).ok()?;
    u64::try_from(length).is_ok_and(|length| length <= MAX_FILE_BYTES).then_some(text)
}
