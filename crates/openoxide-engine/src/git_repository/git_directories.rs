//! The directories of a repository (gitrepository-layout(5)).

use std::path::{Path, PathBuf};

use openoxide_protocol::AbsPath;
use openoxide_store::read_text;

/// The maximum size of a configuration.
const MAX_CONFIG_BYTES: u64 = 1 << 20;

/// The git directory of a working tree and the common directory of its repository.
pub(super) struct GitDirectories {
    pub(super) git_dir: PathBuf,
    pub(super) common_dir: PathBuf,
}

/// Returns the directories of a repository: `.git` itself, or the directory that a `.git` file
/// names.
pub(super) fn find_git_directories(git: &Path, is_directory: bool) -> Option<GitDirectories> {
    let own = if is_directory {
        git.to_path_buf()
    } else {
        let text = read_config(git)?;
        git.parent()?.join(trim_line_end(text.strip_prefix("gitdir: ")?))
    };
    if own.join("config.worktree").exists() {
        return None;
    }
    let said = own.join("commondir");
    let common = match said.symlink_metadata() {
        Ok(_) => own.join(trim_line_end(&read_config(&said)?)),
        Err(_) => own.clone(),
    };
    Some(GitDirectories { git_dir: own, common_dir: common })
}

/// Returns whether git could accept the directory itself as a repository (gitrepository-layout(5)).
/// `HEAD` may be a dangling link, and the other files may be in the directory that `commondir`
/// names.
pub(super) fn may_be_git_dir(directory: &Path) -> bool {
    directory.join("HEAD").symlink_metadata().is_ok()
        && (directory.join("commondir").exists()
            || directory.join("objects").exists() && directory.join("refs").exists())
}

/// Returns the closest directory at or above another one that has a `.git`.
pub(super) fn working_tree_above(place: &AbsPath) -> Option<&Path> {
    let mut places = Path::new(place.as_str()).ancestors();
    places.find(|above| above.join(".git").symlink_metadata().is_ok())
}

/// Returns whether git certainly accepts this as a repository: `HEAD` names a branch or a commit,
/// and the directories that all working trees share can be entered.
pub(super) fn is_valid_git_dir(found: &GitDirectories) -> bool {
    let head = found.git_dir.join("HEAD");
    let named = read_config(&head).is_some_and(|text| {
        let commit = || text.trim_end().len() >= 40 && text.trim_end().bytes().all(is_hex_digit);
        text.starts_with("ref: refs/") || commit()
    });
    named
        && !head.is_symlink()
        && ["objects", "refs"].iter().all(|name| found.common_dir.join(name).join(".").exists())
}

const fn is_hex_digit(byte: u8) -> bool {
    byte.is_ascii_hexdigit()
}

/// Returns the path in a file that contains only a path. Git removes line endings, but no other
/// whitespace.
pub(super) fn trim_line_end(text: &str) -> &str {
    text.trim_end_matches(['\n', '\r'])
}

pub(super) fn read_config(path: &Path) -> Option<String> {
    read_text(path, MAX_CONFIG_BYTES).ok()
}
