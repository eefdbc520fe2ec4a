//! Linked worktrees of git: the project that a checkout belongs to (git-worktree(1),
//! gitrepository-layout(5)).
//!
//! Anyone can write a `.git` file that names another user's repository. A directory is therefore a
//! worktree only if the repository also names it, and if all files involved belong to this user.
//! Any other directory is a separate project, which is not trusted.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use crate::file_access::{FileReadError, read_text};

/// The maximum size of a link file. It contains one path (`PATH_MAX`) after a keyword.
const MAX_LINK_BYTES: u64 = 4096 + 16;
/// The maximum size of a repository's configuration.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Returns the main checkout of a linked worktree, with links resolved. Returns `None` if the
/// directory is not a linked worktree.
///
/// The following are not linked worktrees here: a link that replaces a former worktree, a submodule,
/// a worktree of a bare repository, a copy of a worktree, and a worktree that was moved without `git
/// worktree repair`.
#[must_use]
pub fn find_main_checkout(directory: &AbsPath) -> Option<AbsPath> {
    let LinkedWorktree { directory, repository } = LinkedWorktree::read(directory)?;
    let main = repository.parent().filter(|_| repository.ends_with(".git"))?;
    let counts = is_owned_by_user(main) && main != directory && !is_bare(&repository);
    AbsPath::new(main.to_str().filter(|_| counts)?).ok()
}

/// Returns the git directory of the repository that a linked worktree belongs to, with links
/// resolved: that of its main checkout, or a bare repository. Returns `None` if the directory is not
/// a linked worktree.
#[must_use]
pub fn find_linked_repository(directory: &AbsPath) -> Option<AbsPath> {
    AbsPath::new(LinkedWorktree::read(directory)?.repository.to_str()?).ok()
}

/// A linked worktree, with links resolved.
struct LinkedWorktree {
    directory: PathBuf,
    /// The git directory with the data of all worktrees.
    repository: PathBuf,
}

impl LinkedWorktree {
    /// Reads the files that connect a worktree and its repository.
    ///
    /// The directory's `.git` is a file that names `REPOSITORY/worktrees/NAME`, and the `gitdir` file
    /// there names the same `.git` file. All of them belong to this user, and other users cannot
    /// write them.
    fn read(directory: &AbsPath) -> Option<Self> {
        let link = Path::new(directory.as_str()).join(".git");
        // The usual case needs one lookup: `.git` is not a file.
        if !fs::symlink_metadata(&link).ok()?.is_file() {
            return None;
        }
        let directory = Path::new(directory.as_str()).canonicalize().ok()?;
        let named = read_owned_line(&link)?;
        let admin = directory.join(named.strip_prefix("gitdir: ")?).canonicalize().ok()?;
        let worktrees = admin.parent().filter(|path| path.ends_with("worktrees"))?;
        let repository = worktrees.parent()?.to_owned();
        let back = admin.join(read_owned_line(&admin.join("gitdir"))?);
        let common = admin.join(read_owned_line(&admin.join("commondir"))?);
        let mutual = back.file_name()? == ".git"
            && is_canonical_path(back.parent()?, &directory)
            && common.canonicalize().ok()? == repository;
        let own = [&*directory, &*admin, &*repository].into_iter().all(is_owned_by_user);
        (mutual && own).then_some(Self { directory, repository })
    }
}

/// Returns the reason why a directory's `.git` file cannot be read. In that case its main checkout
/// is unknown, and so are the rules there. Returns `None` if it can be read or is not a file.
pub(crate) fn unreadable_link_reason(directory: &AbsPath) -> Option<String> {
    let link = Path::new(directory.as_str()).join(".git");
    let is_link = fs::symlink_metadata(&link).is_ok_and(|meta| meta.is_file());
    match is_link.then(|| read_text(&link, MAX_LINK_BYTES))? {
        Err(FileReadError::Io(error)) => Some(format!("`{}`: {error}", link.display())),
        _ => None,
    }
}

/// Returns whether a path is the directory's own path without links. Git writes the resolved path
/// (git-worktree(1)). A link in it was therefore added later, and refers to a different directory
/// than the one that git created.
fn is_canonical_path(path: &Path, directory: &Path) -> bool {
    let path = path.to_str().and_then(|path| AbsPath::new(path).ok());
    path.is_some_and(|path| Path::new(path.as_str()) == directory)
}

/// Returns the only line of a file that only this user can write.
fn read_owned_line(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).ok()?.is_file() || !is_owned_by_user(path) {
        return None;
    }
    let text = read_text(path, MAX_LINK_BYTES).ok()?;
    let line = text.trim_end_matches(['\n', '\r']);
    (!line.is_empty() && !line.contains(['\n', '\0'])).then(|| line.to_owned())
}

/// Returns whether a file belongs to this user and is not world-writable.
fn is_owned_by_user(path: &Path) -> bool {
    let own = fs::metadata("/proc/self").map(|meta| meta.uid());
    let meta = fs::symlink_metadata(path);
    meta.is_ok_and(|meta| own.is_ok_and(|own| own == meta.uid()) && meta.mode() & 0o002 == 0)
}

/// Returns whether a repository has no main checkout, according to its own configuration
/// (git-config(1), `core.bare`).
fn is_bare(repository: &Path) -> bool {
    let Ok(text) = read_text(&repository.join("config"), MAX_CONFIG_BYTES) else { return true };
    let bare = |line: &str| {
        let line = line.split_once(']').map_or(line, |(_, behind)| behind).to_ascii_lowercase();
        let (key, value) = line.split_once('=').unwrap_or((&line, "true"));
        let value =
            value.split(['#', ';']).next().unwrap_or_default().trim_matches([' ', '\t', '"']);
        key.trim() == "bare" && !["false", "no", "off", "0", ""].contains(&value)
    };
    text.lines().any(bare)
}

#[cfg(test)]
mod tests;
