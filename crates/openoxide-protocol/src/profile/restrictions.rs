//! The restrictions of a confined process: files and hosts.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NetworkAccess;
use crate::AbsPath;

/// The restrictions of a confined process. It can read everything except `unreadable`. It can
/// change only paths in `writable` that are not in `protected`.
///
/// All paths are resolved. A symbolic link in a path would make the profile refer to another
/// location.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SandboxRestrictions {
    /// The directories below which files may be created, changed and removed. If the set is empty,
    /// everything is read-only.
    pub writable: BTreeSet<AbsPath>,
    /// The paths inside of the writable directories that cannot be changed, whatever name is used
    /// to access them. Missing paths cannot be created, and no directory above one can be moved
    /// away.
    pub protected: BTreeSet<AbsPath>,
    /// The paths that cannot be read.
    pub unreadable: BTreeSet<AbsPath>,
    /// The hosts that can be reached.
    pub network: NetworkAccess,
    /// The handling of `/tmp` and the other temporary directories.
    pub temp: TempDirectories,
}

/// The handling of the temporary directories for a confined process.
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
    /// The directories of the host, read-only like everything else.
    ReadOnly,
    /// Private directories, which are empty at first and are removed at the end.
    #[default]
    Private,
}

impl SandboxRestrictions {
    /// Returns restrictions that permit what both permit.
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

    /// Returns whether a file at this path may be created, changed or removed. Private temporary
    /// directories are ignored, because files in them do not leave the sandbox.
    #[must_use]
    pub fn may_write(&self, path: &AbsPath) -> bool {
        let within =
            |set: &BTreeSet<AbsPath>| set.iter().any(|base| path.strip_prefix(base).is_some());
        within(&self.writable) && !within(&self.protected) && !within(&self.unreadable)
    }

    /// Returns whether a file at this path may be read.
    #[must_use]
    pub fn may_read(&self, path: &AbsPath) -> bool {
        !self.unreadable.iter().any(|base| path.strip_prefix(base).is_some())
    }
}

/// Returns the intersection of two sets of directory trees. If one tree contains another, the inner
/// one is part of the intersection. Only the outermost trees of the result are kept, so that equal
/// sets of paths are equal values.
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
