//! Files with the state of `git` that a program has changed and that make `git` of the host run
//! programs or write outside of the checkout.

use std::{
    ffi::OsStr,
    io::Read as _,
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use crate::{
    post_run::steering_scan::{
        git_index::{self, IndexCheck},
        git_links,
    },
    protected_paths::{common_directory, git_config, open_regular, read_gitdir_link},
};

/// The maximum size of a file with text. A longer one is treated as unsafe.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// The maximum size of an index. A longer one is treated as unsafe.
const MAX_INDEX_BYTES: u64 = 1 << 30;

/// Returns whether a file makes `git` run a program or write outside of the checkout, or cannot be
/// read completely.
pub(super) fn is_unsafe(path: &Path) -> bool {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("index") => check_index(path) != IndexCheck::Safe,
        Some("git-rebase-todo") => has_line(path, is_exec_line),
        // The strategy of git-rebase(1) is the program `git-merge-STRATEGY`. With a slash in it,
        // `git` runs a file of the project.
        Some("strategy") => has_line(path, |line| line.contains('/')),
        Some("opts") => has_line(path, |line| {
            let line = line.trim_start().to_ascii_lowercase();
            line.starts_with("strategy")
                && !line.starts_with("strategy-option")
                && line.contains('/')
        }),
        Some("gitdir") => !is_linked_worktree(path),
        _ => true,
    }
}

/// Returns whether the worktree that a file `gitdir` names is linked to the directory of that file.
/// `git worktree repair` creates this link otherwise, wherever the file leads.
fn is_linked_worktree(path: &Path) -> bool {
    let Some(directory) = path.parent() else { return false };
    let Some(text) = read_file(path, MAX_TEXT_BYTES) else { return false };
    let dot_git = directory.join(OsStr::from_bytes(text.trim_ascii_end()));
    let linked = read_gitdir_link(&dot_git).and_then(|end| end.canonicalize().ok());
    linked.is_some() && linked == directory.canonicalize().ok()
}

/// Returns whether a new entry of a git directory is a link that leads outside, or an index with
/// names outside of the checkout. This is for a time at which files may be incomplete.
pub(crate) fn is_unsafe_entry(path: &Path, roots: &[PathBuf], since: i64) -> bool {
    let is_index = path.file_name().is_some_and(|name| name == "index");
    git_links::is_outward_link(path, roots, since)
        || is_index && check_index(path) == IndexCheck::Unsafe
}

/// Checks the index of a git directory.
fn check_index(path: &Path) -> IndexCheck {
    let Some(bytes) = read_file(path, MAX_INDEX_BYTES) else { return IndexCheck::NotUnderstood };
    let directory = path.parent().unwrap_or(Path::new("/"));
    let common = common_directory(directory).unwrap_or_else(|| directory.to_owned());
    let settings = git_config::read_file(&common.join("config")).unwrap_or_default();
    let is_sha256 = |one: &git_config::GitSetting| {
        one.name() == "extensions.objectformat" && one.value.eq_ignore_ascii_case("sha256")
    };
    let hash_length = if settings.iter().any(is_sha256) { 32 } else { 20 };
    git_index::check(&bytes, hash_length)
}

fn is_exec_line(line: &str) -> bool {
    matches!(line.split_ascii_whitespace().next(), Some("exec" | "x"))
}

fn has_line(path: &Path, is_unsafe: impl Fn(&str) -> bool) -> bool {
    let text = read_file(path, MAX_TEXT_BYTES);
    text.is_none_or(|text| String::from_utf8_lossy(&text).lines().any(is_unsafe))
}

fn read_file(path: &Path, max_bytes: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = open_regular(path).ok()?.take(max_bytes + 1).read_to_end(&mut bytes).ok()?;
    u64::try_from(length).is_ok_and(|length| length <= max_bytes).then_some(bytes)
}
