//! Which files a patch changes, and which may be written to.

use serde::Serialize;

use super::super::place::normal;
use crate::codex::wire::ChangeKind;

/// A patch, as far as it decides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Patch<'a> {
    /// In their order.
    pub(super) changes: Vec<Named<'a>>,
    /// Whether it says on which machine they are.
    pub(super) names_a_machine: bool,
}

/// A change, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) path: &'a str,
    pub(super) kind: Kind<'a>,
}

/// What becomes of a file, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    Add,
    Delete,
    Update { moved: Option<&'a str> },
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FileChange {
    /// The file; an absolute path.
    pub path: String,
    /// What becomes of it.
    pub kind: ChangeKind,
    /// The paths as the patch has them.
    #[serde(skip)]
    pub(super) written: Vec<String>,
}

impl Named<'_> {
    /// Returns the change with absolute paths.
    pub(super) fn at(&self, absolute: impl Fn(&str) -> String) -> FileChange {
        let (kind, moved) = match self.kind {
            Kind::Add => (ChangeKind::Add, None),
            Kind::Delete => (ChangeKind::Delete, None),
            Kind::Update { moved } => {
                (ChangeKind::Update { move_path: moved.map(&absolute) }, moved)
            }
        };
        let written = [Some(self.path), moved].into_iter().flatten().map(str::to_owned).collect();
        FileChange { path: absolute(self.path), kind, written }
    }
}

impl FileChange {
    /// Returns all that is written to or goes.
    pub(super) fn touches(&self) -> impl Iterator<Item = &str> {
        let moved = match &self.kind {
            ChangeKind::Update { move_path } => move_path.as_deref(),
            ChangeKind::Add | ChangeKind::Delete => None,
        };
        std::iter::once(self.path.as_str()).chain(moved)
    }
}

/// What lies read-only at the top of a directory that may be written to.
const PROTECTED: [&str; 3] = [".git", ".agents", ".codex"];

/// The directories that the workspace's sandbox lets be written to, beside the one that Codex was started in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writable<'a> {
    /// Absolute paths: what the settings name, and the directories for temporary files.
    pub roots: &'a [String],
}

impl Writable<'_> {
    /// Says whether all of these may be written to. Links are not followed: whoever goes through one meets the sandbox.
    pub(super) fn has_all<'p>(&self, cwd: &str, paths: impl IntoIterator<Item = &'p str>) -> bool {
        let roots: Vec<String> =
            self.roots.iter().map(String::as_str).chain([cwd]).map(normal).collect();
        paths.into_iter().all(|path| {
            let below: Vec<&str> = roots.iter().filter_map(|root| rest(path, root)).collect();
            !below.is_empty() && !below.iter().any(|rest| is_protected(rest))
        })
    }
}

fn is_protected(rest: &str) -> bool {
    rest.split('/').next().is_some_and(|first| PROTECTED.contains(&first))
}

/// Returns what follows the directory in a path that is it or lies below it; both are normal.
fn rest<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    let rest = path.strip_prefix(directory.trim_end_matches('/'))?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}
