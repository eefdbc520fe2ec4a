//! Links in a repository to files whose lines git would print.

use std::{fs, path::Path};

use super::git_directories::read_config;

/// Directories of a repository with files whose lines git prints (gitrepository-layout(5)).
const PRINTED_DIRECTORIES: [&str; 17] = [
    "",
    "objects",
    "objects/pack",
    "info",
    "objects/info",
    "objects/info/commit-graphs",
    "objects/pack/multi-pack-index.d",
    "logs",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
    "worktrees",
    "rr-cache",
    "worktrees/*",
    "rr-cache/*",
    "branches",
    "remotes",
];

/// The entries of a repository that may be links, because git prints nothing of them.
const HARMLESS_LINKS: [&str; 1] = ["hooks"];

/// The maximum number of entries in these directories.
const MAX_PRINTED_FILES: usize = 4096;

/// Returns whether a file of a repository may be a link. Git shows lines of many of its files, also
/// in errors.
pub(super) fn has_links(repository: &Path) -> bool {
    let mut count = 0;
    PRINTED_DIRECTORIES.iter().any(|name| match name.strip_suffix("/*") {
        None => contains_link(&repository.join(name), &mut count),
        Some(above) => {
            let Ok(entries) = fs::read_dir(repository.join(above)) else { return false };
            entries.flatten().any(|entry| contains_link(&entry.path(), &mut count))
        }
    })
}

/// Directories with files whose lines git prints, below a directory of objects.
const OBJECT_DIRECTORIES: [&str; 5] =
    ["", "info", "pack", "info/commit-graphs", "pack/multi-pack-index.d"];

/// Returns whether a repository uses the objects of another one that has links in the place of
/// these files, or that uses those of a third one. What cannot be read could be such a repository.
pub(super) fn borrows_links(objects: &Path) -> bool {
    let alternates = objects.join("info/alternates");
    if alternates.symlink_metadata().is_err() {
        return false;
    }
    let Some(text) = read_config(&alternates) else { return true };
    let mut count = 0;
    text.lines().filter(|line| !line.is_empty()).any(|line| {
        let other = objects.join(line);
        line.starts_with('"')
            || other.join("info/alternates").symlink_metadata().is_ok()
            || OBJECT_DIRECTORIES.iter().any(|name| contains_link(&other.join(name), &mut count))
    })
}

/// Returns whether an entry of a directory is a link.
fn contains_link(directory: &Path, count: &mut usize) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return false };
    entries.flatten().any(|entry| {
        *count += 1;
        let is_harmless = HARMLESS_LINKS.iter().any(|name| entry.file_name() == *name);
        *count > MAX_PRINTED_FILES
            || !is_harmless && entry.file_type().is_ok_and(|kind| kind.is_symlink())
    })
}
