//! The git repository that contains a directory.

use std::path::Path;

use openoxide_protocol::AbsPath;

/// Returns the root of the git repository that contains a directory.
#[must_use]
pub fn find_worktree(cwd: &AbsPath) -> Option<AbsPath> {
    let above = std::iter::successors(Some(cwd.clone()), AbsPath::parent);
    let mut roots = above.filter(|place| Path::new(place.join(".git").as_str()).exists());
    roots.next()
}
