//! Linked worktrees of git: which project a checkout belongs to (git-worktree(1), gitrepository-layout(5)).
//!
//! Anybody can write a `.git` file that names somebody else's repository. So a directory is a worktree only if the repository names it
//! too, and if all that says so belongs to this user. Whatever is not in order is a project of its own, which nobody vouched for.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use openoxide_protocol::AbsPath;

use crate::file_access::{ReadError, read_text};

/// A file that links is one path. (`PATH_MAX`, and the word before it.)
const MAX_LINK_BYTES: u64 = 4096 + 16;
/// No sensible configuration of a repository is longer.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// Returns the main checkout that a directory is a linked worktree of, links resolved; nothing for what is none.
///
/// The directory's `.git` is a file that names `MAIN/.git/worktrees/NAME`, and that one's `gitdir` names the same `.git` file.
/// All of them belong to this user, and others cannot write them. A link that stands where a worktree was, a submodule, a worktree of a bare repository, a copy of a
/// worktree and one that was moved without `git worktree repair` are none.
#[must_use]
pub fn find_main_checkout(directory: &AbsPath) -> Option<AbsPath> {
    let link = Path::new(directory.as_str()).join(".git");
    // The usual case: one look, and it is no file.
    if !fs::symlink_metadata(&link).ok()?.is_file() {
        return None;
    }
    let directory = Path::new(directory.as_str()).canonicalize().ok()?;
    let named = read_owned_line(&link)?;
    let admin = directory.join(named.strip_prefix("gitdir: ")?).canonicalize().ok()?;
    let repository = find_repository(&admin)?;
    let main = repository.parent()?;
    let back = admin.join(read_owned_line(&admin.join("gitdir"))?);
    let common = admin.join(read_owned_line(&admin.join("commondir"))?);
    let mutual = back.file_name()? == ".git"
        && is_canonical_path(back.parent()?, &directory)
        && common.canonicalize().ok()? == repository;
    let own = [&*directory, &*admin, repository, main].into_iter().all(is_owned_by_user);
    let counts = mutual && own && main != directory && !is_bare(repository);
    AbsPath::new(main.to_str().filter(|_| counts)?).ok()
}

/// Returns why a directory's `.git` file cannot be read, if it is one and cannot be: whose worktree it is, is then unknown, and so are
/// the rules of its main checkout.
pub(crate) fn unreadable_link_reason(directory: &AbsPath) -> Option<String> {
    let link = Path::new(directory.as_str()).join(".git");
    let is_link = fs::symlink_metadata(&link).is_ok_and(|meta| meta.is_file());
    match is_link.then(|| read_text(&link, MAX_LINK_BYTES))? {
        Err(ReadError::Io(error)) => Some(format!("`{}`: {error}", link.display())),
        _ => None,
    }
}

/// Says whether a path is a directory's own, without following links: git writes it resolved (git-worktree(1)), so a link in it came
/// later, and leads to another folder than the one that git made.
fn is_canonical_path(path: &Path, directory: &Path) -> bool {
    let path = path.to_str().and_then(|path| AbsPath::new(path).ok());
    path.is_some_and(|path| Path::new(path.as_str()) == directory)
}

/// Returns the `.git` that keeps a worktree's files in `.git/worktrees/NAME`.
fn find_repository(admin: &Path) -> Option<&Path> {
    let worktrees = admin.parent().filter(|path| path.ends_with("worktrees"))?;
    worktrees.parent().filter(|path| path.ends_with(".git"))
}

/// Returns the one line of a file that this user alone writes.
fn read_owned_line(path: &Path) -> Option<String> {
    if !fs::symlink_metadata(path).ok()?.is_file() || !is_owned_by_user(path) {
        return None;
    }
    let text = read_text(path, MAX_LINK_BYTES).ok()?;
    let line = text.trim_end_matches(['\n', '\r']);
    (!line.is_empty() && !line.contains(['\n', '\0'])).then(|| line.to_owned())
}

/// Says whether a file belongs to this user, and not everybody can write it.
fn is_owned_by_user(path: &Path) -> bool {
    let own = fs::metadata("/proc/self").map(|meta| meta.uid());
    let meta = fs::symlink_metadata(path);
    meta.is_ok_and(|meta| own.is_ok_and(|own| own == meta.uid()) && meta.mode() & 0o002 == 0)
}

/// Says whether a repository has no main checkout, as far as its own configuration says (git-config(1), `core.bare`).
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
