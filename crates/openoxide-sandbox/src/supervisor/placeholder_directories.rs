//! The removal of placeholders by confined programs (rmdir(2)).
//!
//! A placeholder is a mount point, so the kernel refuses to remove it (`EBUSY`). A program that
//! deletes everything (`git clean -fdx`, `rm -rf .vscode`) would fail because of a directory that it
//! did not create. The supervisor answers that an empty placeholder was removed, and it stays.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use rustix::fs::OFlags;

use crate::seccomp::{PendingSyscall, RemovedDirectory, descriptor_path};

/// The directories of a run that are placeholders.
#[derive(Debug, Default)]
pub(crate) struct PlaceholderDirectories(BTreeSet<PathBuf>);

impl PlaceholderDirectories {
    pub(super) fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        Self(paths.into_iter().collect())
    }

    /// Returns whether a directory has the name of a placeholder. Nothing is opened for that.
    pub(super) fn may_contain(&self, removed: &RemovedDirectory) -> bool {
        let name = removed.path.file_name();
        name.is_none() || self.0.iter().any(|path| path.file_name() == name)
    }

    /// Returns whether the directory is an empty placeholder.
    pub(super) fn contain(&self, call: &PendingSyscall<'_>, removed: &RemovedDirectory) -> bool {
        let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
        let Ok(opened) = call.open_relative(removed.base, &removed.path, flags) else {
            return false;
        };
        let opened = descriptor_path(&opened);
        fs::read_link(&opened).is_ok_and(|path| self.0.contains(&path))
            && is_empty(Path::new(&opened))
    }
}

/// Returns whether a directory is empty. A program of the host may have put files into it.
fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut names| names.next().is_none())
}
