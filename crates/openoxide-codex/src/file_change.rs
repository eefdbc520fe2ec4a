//! The change of one file, as Codex reports it.

use serde::{Deserialize, Serialize};

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileUpdateChange {
    /// The path of the file.
    pub path: String,
    /// The kind of change.
    pub kind: PatchChangeKind,
    /// The diff, or the content of a file that is added or deleted.
    pub diff: String,
}

/// The kind of change of a file. `P` is the type of paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PatchChangeKind<P = String> {
    /// The file is added.
    Add,
    /// The file is deleted.
    Delete,
    /// The content changes, and possibly the name.
    Update {
        /// The new path, if the file is moved.
        #[serde(default = "Option::default")]
        move_path: Option<P>,
    },
}

impl<P> PatchChangeKind<P> {
    /// Returns the new path of the file, if it is moved.
    #[must_use]
    pub const fn move_path(&self) -> Option<&P> {
        match self {
            Self::Update { move_path } => move_path.as_ref(),
            Self::Add | Self::Delete => None,
        }
    }
}
