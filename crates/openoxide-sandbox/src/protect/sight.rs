//! What lies below the writable directories and could make a program of the host run something.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::Metadata,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    repository::{self, holds_objects, is_git_directory},
    steering::{Steering, is_steering_name, steering_in},
    walk::{Listing, Walk},
};

/// What a rebase has yet to do, in its git directory.
const TODO: &str = "rebase-merge/git-rebase-todo";

/// Which state a file was in. No program can set the time of the last change (`st_ctime`) to one that has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(u64, u64, i64, i64);

/// What a look found.
#[derive(Debug, Default)]
pub(crate) struct Sight {
    /// Git directories, by what they hold.
    pub(crate) repositories: Vec<PathBuf>,
    /// Names `.git` of whatever kind.
    pub(crate) named_git: Vec<PathBuf>,
    /// Steering files.
    pub(crate) steering: BTreeMap<PathBuf, Steering>,
    /// What rebases have yet to do.
    pub(crate) todo: BTreeMap<PathBuf, Stamp>,
    /// Directories that were not searched.
    pub(crate) unsearched: Vec<PathBuf>,
}

impl Sight {
    /// Looks at everything below these directories but for what is left out. `open` opens what is closed.
    pub(crate) fn of(
        roots: &[PathBuf],
        left_out: &dyn Fn(&Path) -> bool,
        open: &dyn Fn(&Path) -> bool,
    ) -> Self {
        let mut sight = Self::default();
        let skipped = |path: &Path| left_out(path) || holds_objects(path);
        let walk = Walk { asked: &is_asked, skipped: &skipped, open, limit: usize::MAX };
        let unsearched = walk.go(roots.iter().cloned(), |listing| sight.take(&listing));
        Self { unsearched, ..sight }
    }

    fn take(&mut self, listing: &Listing<'_>) {
        self.take_repositories(listing);
        self.steering.extend(steering_in(listing));
    }

    /// Looks at these directories for repositories, and not below them.
    pub(crate) fn of_repositories_in(directories: Vec<PathBuf>) -> Self {
        let mut sight = Self::default();
        let open = |_: &Path| false;
        let walk = Walk { asked: &is_git_name, skipped: &|_| true, open: &open, limit: usize::MAX };
        drop(walk.go(directories, |listing| sight.take_repositories(&listing)));
        sight
    }

    fn take_repositories(&mut self, listing: &Listing<'_>) {
        if is_git_directory(listing) {
            self.repositories.push(listing.path.to_owned());
            let todo = listing.path.join(TODO);
            self.todo.extend(stamp_of(&todo).map(|stamp| (todo, stamp)));
        }
        if listing.has(".git") {
            self.named_git.push(listing.path.join(".git"));
        }
    }
}

fn is_asked(name: &OsStr) -> bool {
    repository::NAMES.iter().any(|asked| name == *asked) || is_steering_name(name)
}

/// Says whether `git` reads a file or directory of this name to tell what a repository is and what it runs.
pub(crate) fn is_git_name(name: &OsStr) -> bool {
    const STEERING: &[&str] = &["config", "config.worktree", "hooks"];
    repository::NAMES.iter().chain(STEERING).any(|asked| name == *asked)
}

/// Which state this is in, if it is there.
pub(crate) fn stamp_of(path: &Path) -> Option<Stamp> {
    path.symlink_metadata().ok().map(|found| stamp(&found))
}

fn stamp(found: &Metadata) -> Stamp {
    Stamp(found.ino(), found.size(), found.ctime(), found.ctime_nsec())
}
