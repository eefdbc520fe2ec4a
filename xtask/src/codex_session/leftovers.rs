//! The empty directories that Codex's sandbox leaves in the directory for temporary files, under
//! the names that it protects. An empty `.git` there would make a repository of everything below.

use std::{env, fs, path::PathBuf};

const NAMES: [&str; 3] = [".git", ".codex", ".agents"];

/// The paths that did not exist before. They are removed at the end.
#[derive(Debug)]
pub(super) struct Leftovers(Vec<PathBuf>);

impl Leftovers {
    /// Returns the missing paths. To be called before Codex is started.
    pub(super) fn before() -> Self {
        let places = NAMES.iter().map(|name| env::temp_dir().join(name));
        Self(places.filter(|place| !place.exists()).collect())
    }
}

impl Drop for Leftovers {
    fn drop(&mut self) {
        // Only empty directories are removed.
        self.0.iter().for_each(|place| drop(fs::remove_dir(place)));
    }
}
