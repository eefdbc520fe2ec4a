//! The formats of policy text: the native format, and those of other programs.

use openoxide_permission::{LayerKind, PathAnchors};

use crate::policy_file::{self, PolicyFile};

/// A function that reads the text of a source. Its arguments are the text, the layer, the name, and
/// the meaning of path anchors.
pub type PolicyReader = fn(&str, LayerKind, &str, PathAnchors<'_>) -> PolicyFile;

/// The format of the text of a source. A crate above this one that translates another program's
/// policy passes its reader in.
#[derive(Clone, Copy, Debug)]
pub struct PolicyFormat {
    /// Its name, the same as in `--format`. Two formats of one name are one format: the compiled policy goes by it.
    pub name: &'static str,
    /// Reads it.
    pub read: PolicyReader,
}

impl PolicyFormat {
    /// The native policy file.
    pub const NATIVE: Self = Self { name: "native", read: policy_file::parse_policy };
}

impl PartialEq for PolicyFormat {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PolicyFormat {}
