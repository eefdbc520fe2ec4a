//! The writable directories of a profile.

use std::{collections::BTreeSet, path::PathBuf};

use openoxide_protocol::AbsPath;

/// Returns the writable directories that are not inside another writable directory.
pub(crate) fn outermost_roots(roots: &BTreeSet<AbsPath>) -> Vec<PathBuf> {
    let inner = |path: &AbsPath| {
        roots.iter().any(|other| other != path && path.strip_prefix(other).is_some())
    };
    roots.iter().filter(|path| !inner(path)).map(|path| PathBuf::from(path.as_str())).collect()
}
