//! Changes of the data of a git repository (gitrepository-layout(5)): what `git` writes when it
//! commits, merges or fetches. No content of these files makes `git` run a program or write
//! elsewhere, except for an index, which is checked after the commit.

use std::{ffi::OsStr, path::Path};

use crate::staging::{
    entry_state::{EntryKind, EntryState},
    staged_change::{StagedChange, StagedChanges},
};

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
    /// Returns the changes of data of a repository.
    pub fn repository_data(&self) -> impl Iterator<Item = &StagedChange> {
        self.changes.iter().filter(|change| change.is_repository_data())
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
