//! Changes of the data of a git repository (gitrepository-layout(5)): what `git` writes when it
//! commits, merges or fetches. No content of these files makes `git` run a program or write
//! elsewhere, except for an index, which is checked after the commit.

use std::{ffi::OsStr, path::Path};

use crate::{
    protected_paths::find_risky_changes,
    staging::{
        change_contents::ChangeContents,
        entry_state::{EntryKind, EntryState},
        staged_change::{StagedChange, StagedChanges},
    },
};

/// The maximum size of a configuration file.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Directories of data, in a git directory.
const DATA_DIRECTORIES: &[&str] = &["logs", "objects", "refs"];
/// Data in `objects/info`.
const INFO_FILES: &[&str] =
    &["objects/info/commit-graph", "objects/info/commit-graphs", "objects/info/packs"];
/// Files of data, in a git directory.
const DATA_FILES: &[&str] = &[
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "COMMIT_EDITMSG",
    "FETCH_HEAD",
    "HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "TAG_EDITMSG",
    "index",
    "info/refs",
    "packed-refs",
    "shallow",
];

impl StagedChanges {
    /// Returns the changes of data of a repository, and those of settings that make `git` run
    /// nothing.
    pub fn repository_data<'a>(
        &'a self,
        contents: &'a dyn ChangeContents,
    ) -> impl Iterator<Item = &'a StagedChange> {
        let is_harmless = |change: &StagedChange| {
            change.is_repository_data() || change.is_harmless_config(contents)
        };
        self.changes.iter().filter(move |change| is_harmless(change))
    }
}

impl StagedChange {
    fn is_repository_data(&self) -> bool {
        let is_plain = |state: &Option<EntryState>| {
            state
                .as_ref()
                .is_none_or(|state| matches!(state.kind, EntryKind::File(_) | EntryKind::Directory))
        };
        is_plain(&self.before)
            && is_plain(&self.after)
            && path_in_git_directory(&self.relative_path).is_some_and(is_data)
    }
}

impl StagedChange {
    /// Returns whether this changes only settings of an existing repository that make `git` run
    /// nothing.
    fn is_harmless_config(&self, contents: &dyn ChangeContents) -> bool {
        let Some(directory) = self.host_path().parent() else { return false };
        let is_file = |state: &Option<EntryState>| state.as_ref().is_some_and(EntryState::is_file);
        let is_config = directory.file_name() == Some(OsStr::new(".git"))
            && self.host_path().file_name() == Some(OsStr::new("config"));
        if !is_config || !is_file(&self.before) || !is_file(&self.after) {
            return false;
        }
        let before = contents.read_before(self, MAX_CONFIG_BYTES);
        let after = contents.read_after(self, MAX_CONFIG_BYTES);
        let risky = before.ok().zip(after.ok()).and_then(|(before, after)| {
            // A text of the maximum length may be incomplete.
            let is_complete = [&before, &after].iter().all(|text| text.len() < 1 << 20);
            is_complete.then(|| find_risky_changes(&before, &after, self.host_path()))?
        });
        risky.is_some_and(|risky| risky.is_empty())
    }
}

/// Returns the path in the git directory of a repository or of a linked worktree. Directories of
/// submodules are left out: their settings are not covered like those of a repository.
fn path_in_git_directory(path: &Path) -> Option<&Path> {
    let is_git = |path: &&Path| path.file_name() == Some(OsStr::new(".git"));
    let mut directories = path.ancestors().filter(is_git);
    let (Some(directory), None) = (directories.next(), directories.next()) else { return None };
    let below = path.strip_prefix(directory).ok()?;
    match below.strip_prefix("worktrees") {
        Ok(worktree) => {
            let mut names = worktree.components();
            names.next()?;
            Some(names.as_path())
        }
        Err(_) => Some(below),
    }
}

fn is_data(path: &Path) -> bool {
    let is_file = || DATA_FILES.iter().any(|name| path == Path::new(name));
    let is_in = |directory: &&str| path.starts_with(directory);
    // `objects/info` also names the directories of other repositories.
    let is_info = || path.starts_with("objects/info") && !INFO_FILES.iter().any(is_in);
    is_file() || DATA_DIRECTORIES.iter().any(is_in) && !is_info()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_git_writes_when_it_commits_is_data() {
        let data = |path: &str| path_in_git_directory(Path::new(path)).is_some_and(is_data);
        for path in [
            ".git/objects/ab/cdef",
            ".git/objects/pack/pack-1.idx",
            ".git/refs/heads/main",
            ".git/logs/HEAD",
            ".git/index",
            ".git/HEAD",
            ".git/info/refs",
            ".git/objects/info/packs",
            "sub/.git/packed-refs",
            ".git/worktrees/linked/index",
            ".git/worktrees/linked/logs/HEAD",
        ] {
            assert!(data(path), "{path}");
        }
        for path in [
            ".git",
            ".git/config",
            ".git/config.worktree",
            ".git/hooks/pre-commit",
            ".git/commondir",
            ".git/info/attributes",
            ".git/objects/info/alternates",
            ".git/rebase-merge/git-rebase-todo",
            ".git/worktrees/linked",
            ".git/worktrees/linked/commondir",
            ".git/worktrees/linked/gitdir",
            ".git/modules/m/HEAD",
            ".git/x/.git/index",
            ".GIT/index",
            "refs/heads/main",
            "a",
        ] {
            assert!(!data(path), "{path}");
        }
    }
}
