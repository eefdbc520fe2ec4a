//! A profile that is held: which files, which hosts.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NetworkAccess;
use crate::AbsPath;

/// What a confined process may do. It reads everything but `unreadable`, and changes nothing but what lies in `writable`
/// and not in `protected`.
///
/// All paths are resolved: a symbolic link in one of them would let the profile mean another place than it says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxRestrictions {
    /// The directories below which files may be made, changed and removed. None: read-only.
    pub writable: BTreeSet<AbsPath>,
    /// What stays as it is inside them, by whatever name it is reached; missing ones cannot be made, and no directory
    /// above one can be moved away.
    pub protected: BTreeSet<AbsPath>,
    /// What cannot be read.
    pub unreadable: BTreeSet<AbsPath>,
    /// Which hosts are reached.
    pub network: NetworkAccess,
    /// What `/tmp` and its like are.
    pub temp: TempDirectories,
}

/// What the directories for temporary files are to a confined process.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum TempDirectories {
    /// They are the host's, and as read-only as everything else.
    ReadOnly,
    /// It has its own, empty at first, gone at the end.
    #[default]
    Private,
}

impl SandboxRestrictions {
    /// Returns what both permit.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        Self {
            writable: intersect_trees(&self.writable, &other.writable),
            protected: &self.protected | &other.protected,
            unreadable: &self.unreadable | &other.unreadable,
            network: self.network.intersect(&other.network),
            temp: self.temp.min(other.temp),
        }
    }

    /// Says whether a file at this place may be made, changed or removed. The private temporary directories are not
    /// counted: what is written there reaches nobody.
    #[must_use]
    pub fn may_write(&self, path: &AbsPath) -> bool {
        let within =
            |set: &BTreeSet<AbsPath>| set.iter().any(|base| path.strip_prefix(base).is_some());
        within(&self.writable) && !within(&self.protected) && !within(&self.unreadable)
    }

    /// Says whether a file at this place may be read.
    #[must_use]
    pub fn may_read(&self, path: &AbsPath) -> bool {
        !self.unreadable.iter().any(|base| path.strip_prefix(base).is_some())
    }
}

/// The places that lie in both sets of trees: of two of which one holds the other, the inner one. Of these, the outermost
/// are kept, so that equal sets of places are equal values.
fn intersect_trees(a: &BTreeSet<AbsPath>, b: &BTreeSet<AbsPath>) -> BTreeSet<AbsPath> {
    let inner = |x: &AbsPath, y: &AbsPath| {
        let lower =
            if x.strip_prefix(y).is_some() { Some(x) } else { y.strip_prefix(x).map(|_| y) };
        lower.cloned()
    };
    let both: BTreeSet<_> =
        a.iter().flat_map(|x| b.iter().filter_map(move |y| inner(x, y))).collect();
    let outermost = |path: &&AbsPath| {
        !both.iter().any(|other| other != *path && path.strip_prefix(other).is_some())
    };
    both.iter().filter(outermost).cloned().collect()
}
