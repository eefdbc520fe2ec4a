//! How unusual a change is.

use std::path::{Component, Path, PathBuf};

use openoxide_protocol::{
    AbsPath,
    steering_files::{find_steering_files, is_protected_path},
};
use openoxide_sandbox::{EntryKind, EntryState, StagedChange};

use super::{displayed_path::to_visible_line, repository_data::is_repository_data};

/// Returns the kind of a change.
pub(crate) const fn change_word(change: &StagedChange) -> &'static str {
    match (&change.before, &change.after) {
        (None, _) => "new",
        (_, None) => "removed",
        _ => "changed",
    }
}

/// A class of changes, the most unusual first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ChangeClass {
    /// A link that leads out of the directory, or a file that steers programs of the host. Each of
    /// them is named.
    Dangerous,
    /// A file of a git repository that holds data, such as a commit.
    RepositoryData,
    /// An entry that disappears.
    Removed,
    /// A file of ordinary work that can make tools run programs, such as `package.json`.
    SteersTools,
    /// A file that becomes executable.
    Executable,
    /// A link inside the directory.
    Link,
    /// A named pipe, another type, another mode, other extended attributes, or a name with control
    /// characters.
    Special,
    /// An existing file with another content.
    Changed,
    /// A new file or directory.
    New,
}

impl ChangeClass {
    /// Returns the class of a change in this working directory.
    pub(super) fn from_change(change: &StagedChange, cwd: &AbsPath) -> Self {
        let Some(after) = &change.after else { return Self::from_removal(&change.path) };
        let before = change.before.as_ref();
        match &after.kind {
            EntryKind::File(_) | EntryKind::Directory if is_repository_data(&change.path) => {
                Self::RepositoryData
            }
            _ if is_protected_path(&change.path) => Self::Dangerous,
            EntryKind::Link(target) if leads_outside(&change.path, Path::new(target), cwd) => {
                Self::Dangerous
            }
            _ if steers_tools(&change.path, cwd) => Self::SteersTools,
            EntryKind::File(_) if is_executable(after) && !before.is_some_and(is_executable) => {
                Self::Executable
            }
            _ if has_unusual_name(&change.path) => Self::Special,
            _ if before.is_some_and(|before| is_other_entry(before, after)) => Self::Special,
            EntryKind::Link(_) => Self::Link,
            EntryKind::Fifo => Self::Special,
            EntryKind::File(_) | EntryKind::Directory if before.is_some() => Self::Changed,
            EntryKind::File(_) | EntryKind::Directory => Self::New,
        }
    }

    fn from_removal(path: &AbsPath) -> Self {
        match (is_repository_data(path), is_protected_path(path)) {
            (true, _) => Self::RepositoryData,
            (false, true) => Self::Dangerous,
            (false, false) => Self::Removed,
        }
    }

    /// Returns the remark about a change of this class that is named.
    pub(super) fn note(self, change: &StagedChange) -> &'static str {
        match (self, &change.after) {
            (Self::Dangerous, Some(EntryState { kind: EntryKind::Link(_), .. })) => {
                " (leads out of this directory)"
            }
            (Self::Dangerous | Self::SteersTools, _) => " (steers tools)",
            (Self::Special, _) if has_unusual_name(&change.path) => " (unusual name)",
            _ => "",
        }
    }

    /// Returns the noun for several changes of this class.
    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::RepositoryData => "files of a repository",
            Self::SteersTools => "files that steer tools",
            Self::Executable => "executable files",
            Self::Link => "links",
            Self::Special => "files with an unusual type, mode or name",
            Self::Dangerous | Self::Removed | Self::Changed | Self::New => "files",
        }
    }
}

/// Returns whether tools obey this file because of its name. The names of the directories above the
/// working directory do not matter: everything in it would be such a file.
fn steers_tools(path: &AbsPath, cwd: &AbsPath) -> bool {
    let any_file = cwd.join("x");
    find_steering_files(path).any(|file| !file.matches(&any_file))
}

/// Returns whether a name contains characters that are shown escaped.
fn has_unusual_name(path: &AbsPath) -> bool {
    to_visible_line(path.as_str()) != path.as_str()
}

const fn is_executable(entry: &EntryState) -> bool {
    matches!(entry.kind, EntryKind::File(_)) && entry.mode & 0o111 != 0
}

/// Returns whether an entry differs in more than its content and its time.
fn is_other_entry(before: &EntryState, after: &EntryState) -> bool {
    std::mem::discriminant(&before.kind) != std::mem::discriminant(&after.kind)
        || (before.mode != after.mode && !matches!(after.kind, EntryKind::Link(_)))
        || !before.has_same_attributes(after)
}

/// Returns whether a link leads out of the directory, by the names alone.
fn leads_outside(link: &AbsPath, target: &Path, cwd: &AbsPath) -> bool {
    let parent = Path::new(link.as_str()).parent().unwrap_or_else(|| Path::new("/"));
    let mut end = PathBuf::new();
    for component in parent.join(target).components() {
        match component {
            Component::ParentDir => _ = end.pop(),
            Component::CurDir => {}
            other => end.push(other),
        }
    }
    !end.starts_with(cwd.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_that_leaves_the_directory_is_found_by_its_target() {
        let path = |text: &str| AbsPath::new(text).unwrap();
        let leaves = |target: &str| {
            leads_outside(&path("/p/node_modules/.bin/x"), Path::new(target), &path("/p"))
        };
        for target in ["/etc/passwd", "../../../etc", "../../../p2/x", "/", "/p/../q"] {
            assert!(leaves(target), "{target}");
        }
        for target in ["../a/x.js", "../../README", "./y", "/p/a", "../../../p/a", ""] {
            assert!(!leaves(target), "{target}");
        }
    }
}
