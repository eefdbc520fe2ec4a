//! The formats of policy text: the native format and those of other programs.

use openoxide_permission::{LayerKind, PathAnchors};

use crate::policy_file::{self, PolicyFile};

/// A function that parses the text of a source. Its arguments are the text, the layer, the name,
/// and the meaning of path anchors.
pub type PolicyReader = fn(&str, LayerKind, &str, PathAnchors<'_>) -> PolicyFile;

/// The format of a source. A crate that depends on this one and translates policies of another
/// program provides its own reader.
#[derive(Clone, Copy, Debug)]
pub struct PolicyFormat {
    /// The name, as in `--format`. It identifies the format in the signature of a compiled policy.
    pub name: &'static str,
    /// Parses the text.
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
