//! How the text of a policy becomes a layer: our own way, or that of another program.

use openoxide_permission::{LayerKind, PathAnchors};

use crate::policy_file::{self, PolicyFile};

/// Reads the text of a source: its layer, its name, and what anchors stand for.
pub type PolicyReader = fn(&str, LayerKind, &str, PathAnchors<'_>) -> PolicyFile;

/// How the text of a source is read. Who translates another program's policy stands above this crate and hands its reader in.
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
