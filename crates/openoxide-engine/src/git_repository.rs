//! Detection of repositories that can make git run programs.
//!
//! `git status` runs the program in `core.fsmonitor`. `git diff` runs the programs in
//! `diff.external` and in filters. `git log` runs the program in `gpg.program`. A cloned repository
//! has a configuration that git itself wrote. A repository from an archive, or one that is embedded
//! in another repository as plain directories (`HEAD`, `objects`, `refs`), has the configuration
//! that its author chose.

mod git_directories;
mod git_index;
mod harmless_config;
mod repository_links;
#[cfg(test)]
mod tests;
mod tracked_files;

use std::{
    fs,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use self::{
    git_directories::{
        GitDirectories, find_git_directories, is_valid_git_dir, may_be_git_dir, read_config,
        trim_line_end, working_tree_above,
    },
    git_index::submodule_paths,
    harmless_config::read_harmless_config,
    repository_links::{borrows_links, has_links},
};
pub(crate) use self::{
    git_index::{Index, IndexEntry, UnreadableIndex, index_above},
    tracked_files::TrackedFiles,
};
use crate::{project_settings::path_spellings, script_edits::PriorEdits};

/// The maximum depth of submodules.
const MAX_SUBMODULE_DEPTH: usize = 4;

/// Returns whether the configuration of the repository that git would find from `cwd` contains only
/// settings that are known to run nothing. Returns true if there is no repository. A repository
/// that may have been edited before is not harmless.
pub(crate) fn is_harmless(cwd: &AbsPath, edits: &PriorEdits<'_>) -> bool {
    path_spellings(cwd).iter().all(|place| is_harmless_from(place, edits))
}

fn is_harmless_from(place: &Path, edits: &PriorEdits<'_>) -> bool {
    for directory in place.ancestors() {
        let git = directory.join(".git");
        if edits.may_change(&git) {
            return false;
        }
        // A `.git` directory that is not a repository is skipped.
        if git.is_file() || may_be_git_dir(&git) {
            return is_harmless_worktree(directory, edits, false, MAX_SUBMODULE_DEPTH);
        }
        if may_be_git_dir(directory) || may_become_git_dir(directory, edits) {
            return false;
        }
    }
    true
}

/// Returns whether a directory can have been turned into a repository: it has a `HEAD`, and some of
/// the other files were edited.
fn may_become_git_dir(directory: &Path, edits: &PriorEdits<'_>) -> bool {
    let head = directory.join("HEAD");
    let rest = ["HEAD", "commondir", "objects", "refs"];
    (head.symlink_metadata().is_ok() || edits.may_change(&head))
        && rest.iter().any(|name| edits.may_change(&directory.join(name)))
}

/// Returns whether the repository that git would find from here is embedded and not harmless.
///
/// A repository is embedded if it is inside of the working tree of another repository, or if it is
/// below the directory that the agent works in and its directory is not named `.git`. The author of
/// the enclosing tree decides what git runs there.
pub(crate) fn is_embedded(place: &AbsPath, cwd: &AbsPath, edits: &PriorEdits<'_>) -> bool {
    path_spellings(place).iter().any(|place| is_embedded_from(place, cwd, edits))
}

fn is_embedded_from(place: &Path, cwd: &AbsPath, edits: &PriorEdits<'_>) -> bool {
    let named = |directory: &Path| {
        directory.join(".git").is_dir() && may_be_git_dir(&directory.join(".git"))
    };
    for directory in place.ancestors() {
        if directory.join(".git").is_file() {
            return false;
        }
        let bare =
            !named(directory) && (may_be_git_dir(directory) || is_edited_git_dir(directory, edits));
        if bare || named(directory) {
            let inside = directory.ancestors().skip(1).any(|above| above.join(".git").exists());
            let below = path_spellings(cwd)
                .iter()
                .any(|cwd| directory != cwd && directory.starts_with(cwd));
            return (inside || bare && below)
                && (bare
                    || !is_harmless_worktree(
                        directory,
                        &PriorEdits::Paths(Vec::new()),
                        false,
                        MAX_SUBMODULE_DEPTH,
                    ));
        }
    }
    false
}

/// Returns whether the script itself edits the files that make this directory a repository.
fn is_edited_git_dir(directory: &Path, edits: &PriorEdits<'_>) -> bool {
    matches!(edits, PriorEdits::Paths(_)) && may_become_git_dir(directory, edits)
}

/// Returns whether the configuration of the repository that git would find from `cwd` has a remote of this name.
pub(crate) fn has_remote(cwd: &AbsPath, name: &str) -> bool {
    let mut places = Path::new(cwd.as_str()).ancestors().map(|above| above.join(".git"));
    let Some(git) = places.find(|git| git.exists()) else { return false };
    let config = find_git_directories(&git, git.is_dir())
        .and_then(|found| read_config(&found.common_dir.join("config")));
    let header = format!("[remote \"{name}\"]");
    config.is_some_and(|text| text.lines().any(|line| line.trim() == header))
}

/// Returns the configurations of all repositories in this directory and above: git uses one of them.
/// Returns `None` if one cannot be read.
pub(crate) fn read_settings(cwd: &AbsPath) -> Option<String> {
    let mut all = String::new();
    for place in path_spellings(cwd).iter().flat_map(|place| place.ancestors()) {
        let git = place.join(".git");
        let config = if git.symlink_metadata().is_ok() {
            find_git_directories(&git, git.is_dir())?.common_dir.join("config")
        } else if may_be_git_dir(place) {
            place.join("config")
        } else {
            continue;
        };
        if config.symlink_metadata().is_ok() {
            all += &read_config(&config)?;
        }
    }
    Some(all)
}

/// Returns whether the repository of this working tree and those of its submodules are harmless.
/// `git status` and `git diff` run git in each submodule, with the configuration of that submodule.
fn is_harmless_worktree(
    tree: &Path,
    edits: &PriorEdits<'_>,
    is_submodule: bool,
    deep: usize,
) -> bool {
    let git = tree.join(".git");
    let Some(found) = find_git_directories(&git, git.is_dir()) else { return false };
    // If git does not accept a directory as a repository, it continues with the parent directory.
    if !is_valid_git_dir(&found) || !belongs_to_tree(&found, &git, tree) {
        return false;
    }
    if has_links(&found.git_dir)
        || has_links(&found.common_dir)
        || borrows_links(&found.common_dir.join("objects"))
    {
        return false;
    }
    let Some(config) = read_harmless_config(&found.common_dir, is_submodule.then_some(tree)) else {
        return false;
    };
    let Some(links) = submodule_paths(&found.git_dir, &config) else { return false };
    let mut there = links.iter().map(|name| tree.join(name));
    there.all(|below| {
        !edits.may_change(&below.join(".git"))
            && (!below.join(".git").exists()
                || deep > 0 && is_harmless_worktree(&below, edits, true, deep - 1))
    })
}

/// Returns whether a repository is that of this working tree, and not another one whose content git
/// would print: `.git` itself, the directory of a linked worktree or that of a submodule.
fn belongs_to_tree(found: &GitDirectories, git: &Path, tree: &Path) -> bool {
    let Ok(kind) = git.symlink_metadata() else { return false };
    if kind.is_dir() {
        // Only directories of linked worktrees have a common directory.
        return found.git_dir == found.common_dir;
    }
    let real = |path: PathBuf| fs::canonicalize(path).ok();
    let (Some(own), Some(file)) = (real(found.git_dir.clone()), real(git.to_path_buf())) else {
        return false;
    };
    let named_back = read_config(&found.git_dir.join("gitdir"))
        .and_then(|text| real(found.git_dir.join(trim_line_end(&text))));
    kind.is_file()
        && (named_back == Some(file)
            || tree.ancestors().skip(1).any(|above| {
                let git = above.join(".git");
                let outer = find_git_directories(&git, git.is_dir());
                let modules = outer.and_then(|outer| real(outer.git_dir.join("modules")));
                modules.is_some_and(|modules| own.starts_with(modules))
            }))
}

/// Returns whether the repository that git would find from a directory also contains the objects of
/// another repository (gitrepository-layout(5), `objects/info/alternates`).
pub(crate) fn borrows_objects(place: &AbsPath) -> bool {
    let Some(git) = working_tree_above(place).map(|tree| tree.join(".git")) else { return false };
    let found = find_git_directories(&git, git.is_dir());
    found.is_some_and(|found| {
        let list = found.common_dir.join("objects/info/alternates");
        list.symlink_metadata().is_ok_and(|list| !list.is_file() || list.len() > 0)
    })
}
