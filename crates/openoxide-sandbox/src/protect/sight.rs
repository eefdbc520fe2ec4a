//! What lies below the writable directories and could make a program of the host run something.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs::{self, Metadata},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    repository::{self, holds_objects, is_git_directory},
    walk::{Listing, Walk},
};

/// Files, and directories of files, from which an agent or its editor takes commands that it runs by itself when it is
/// started there. What asks a person first every time it has changed is not among them (`.envrc`: direnv(1)), nor is what
/// is a person's own act to run (tasks of an editor, scripts of a package).
const SETTINGS: &[&str] = &[
    ".aider.conf.yml",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/config.toml",
    ".codex/hooks.json",
    ".cursor/hooks.json",
    ".cursor/mcp.json",
    ".gemini/settings.json",
    ".mcp.json",
    ".opencode/opencode.json",
    ".opencode/opencode.jsonc",
    ".opencode/plugin",
    ".opencode/plugins",
    "opencode.json",
    "opencode.jsonc",
];

/// What a rebase has yet to do, in its git directory.
const TODO: &str = "rebase-merge/git-rebase-todo";

/// How many files of a directory of such files are looked at.
const PLUGINS: usize = 100;

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
    /// Settings of agents.
    pub(crate) settings: BTreeMap<PathBuf, Stamp>,
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
        let walk = Walk { asked: &is_asked, skipped: &skipped, open };
        let unsearched = walk.go(roots.iter().cloned(), |listing| sight.take(&listing));
        sight.settings.retain(|path, _| !left_out(path));
        Self { unsearched, ..sight }
    }

    fn take(&mut self, listing: &Listing<'_>) {
        if is_git_directory(listing) {
            self.repositories.push(listing.path.to_owned());
            let todo = listing.path.join(TODO);
            self.todo.extend(stamp_of(&todo).map(|stamp| (todo, stamp)));
        }
        if listing.has(".git") {
            self.named_git.push(listing.path.join(".git"));
        }
        // Nobody works in a package that was installed.
        if listing.path.components().all(|part| part.as_os_str() != "node_modules") {
            for name in SETTINGS.iter().filter(|name| listing.has(first(name))) {
                self.take_settings(&listing.path.join(name));
            }
        }
    }

    fn take_settings(&mut self, path: &Path) {
        let Ok(found) = path.symlink_metadata() else { return };
        self.settings.insert(path.to_owned(), stamp(&found));
        if found.is_dir() {
            let files = fs::read_dir(path).into_iter().flatten().take(PLUGINS).flatten();
            let stamped =
                files.filter_map(|file| Some((file.path(), stamp(&file.metadata().ok()?))));
            self.settings.extend(stamped);
            self.settings.remove(path);
        }
    }
}

fn is_asked(name: &OsStr) -> bool {
    repository::NAMES.iter().any(|asked| name == *asked)
        || SETTINGS.iter().any(|asked| name == first(asked))
}

fn first(path: &str) -> &str {
    path.split_once('/').map_or(path, |(first, _)| first)
}

/// Which state this is in, if it is there.
pub(crate) fn stamp_of(path: &Path) -> Option<Stamp> {
    path.symlink_metadata().ok().map(|found| stamp(&found))
}

fn stamp(found: &Metadata) -> Stamp {
    Stamp(found.ino(), found.size(), found.ctime(), found.ctime_nsec())
}
