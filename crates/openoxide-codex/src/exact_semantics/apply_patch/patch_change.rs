//! The files that a patch changes, and the directories that a patch may write to.

use serde::Serialize;

use super::super::launch_context::normalize_path;
use crate::file_change::PatchChangeKind;

/// The parts of a patch that matter for the decision.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedPatch<'a> {
    /// The changes in the order of the patch.
    pub(super) changes: Vec<FileHunk<'a>>,
    /// True if the patch names the machine of its files.
    pub(super) names_environment: bool,
}

/// A change with its path as written in the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileHunk<'a> {
    pub(super) path: &'a str,
    pub(super) kind: PatchChangeKind<&'a str>,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PatchedFile {
    /// The absolute path of the file.
    pub path: String,
    /// The kind of change.
    pub kind: PatchChangeKind,
    /// The paths as written in the patch.
    #[serde(skip)]
    pub(super) patch_paths: Vec<String>,
}

impl FileHunk<'_> {
    /// Returns the change with absolute paths.
    pub(super) fn resolve(&self, absolute: impl Fn(&str) -> String) -> PatchedFile {
        let kind = match self.kind {
            PatchChangeKind::Add => PatchChangeKind::Add,
            PatchChangeKind::Delete => PatchChangeKind::Delete,
            PatchChangeKind::Update { move_path } => {
                PatchChangeKind::Update { move_path: move_path.map(&absolute) }
            }
        };
        let moved = self.kind.move_path().copied();
        let written = [Some(self.path), moved].into_iter().flatten().map(str::to_owned).collect();
        PatchedFile { path: absolute(self.path), kind, patch_paths: written }
    }
}

impl PatchedFile {
    /// Returns all paths that are written or removed.
    pub(super) fn collect_affected_paths(&self) -> impl Iterator<Item = &str> {
        let moved = self.kind.move_path().map(String::as_str);
        std::iter::once(self.path.as_str()).chain(moved)
    }
}

/// Entries at the top of a writable directory that are read-only.
const PROTECTED_DIRECTORIES: [&str; 3] = [".git", ".agents", ".codex"];

/// The directories that the workspace sandbox makes writable, in addition to the directory in which
/// Codex was started.
#[derive(Clone, Copy, Debug, Default)]
pub struct WritableRoots<'a> {
    /// The absolute paths of the directories that the settings name, and of the directories for
    /// temporary files.
    pub roots: &'a [String],
}

impl WritableRoots<'_> {
    /// Returns whether all of these paths are writable. Links are not followed: the sandbox checks
    /// writes through a link.
    pub(super) fn contains_all<'p>(
        &self,
        cwd: &str,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> bool {
        let roots: Vec<String> =
            self.roots.iter().map(String::as_str).chain([cwd]).map(normalize_path).collect();
        paths.into_iter().all(|path| {
            let below: Vec<&str> =
                roots.iter().filter_map(|root| strip_directory(path, root)).collect();
            !below.is_empty() && !below.iter().any(|rest| is_protected_path(rest))
        })
    }
}

fn is_protected_path(rest: &str) -> bool {
    rest.split('/').next().is_some_and(|first| PROTECTED_DIRECTORIES.contains(&first))
}

/// Returns the rest of a path after a directory, which is the path itself or an ancestor of it.
/// Both are in normal form.
fn strip_directory<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
