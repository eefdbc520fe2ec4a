//! The files that repositories track.

use std::{
    cell::RefCell,
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use super::git_index::index_above;

/// The names of an index below its working tree, or `None` if they are not known.
type TrackedNames = Option<(AbsPath, HashSet<String>)>;

/// The files that the repositories of a search track. Each repository is read once.
#[derive(Default)]
pub(crate) struct TrackedFiles(RefCell<HashMap<PathBuf, TrackedNames>>);

impl TrackedFiles {
    /// Returns whether git may track a file. Lists of ignored files do not apply to it then.
    pub(crate) fn may_track(&self, path: &AbsPath) -> bool {
        let mut above = Path::new(path.as_str()).ancestors().skip(1);
        let tree = above.find(|above| above.join(".git").symlink_metadata().is_ok());
        let Some(tree) = tree else { return false };
        let mut known = self.0.borrow_mut();
        let names = known.entry(tree.to_path_buf()).or_insert_with(|| {
            let tree = AbsPath::new(tree.to_str()?).ok()?;
            let index = index_above(&tree).ok()?;
            let names = index.map(|index| {
                index.entries.into_iter().map(|entry| entry.name).collect::<HashSet<_>>()
            });
            Some((tree, names.unwrap_or_default()))
        });
        names.as_ref().is_none_or(|(tree, names)| {
            path.strip_prefix(tree).is_none_or(|below| names.contains(below))
        })
    }
}
