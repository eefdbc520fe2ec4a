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
        self.is_listed(path, |names, below| names.contains(below)).unwrap_or(false)
    }

    /// Returns whether a file is in a repository and certainly not in its index. Some file systems
    /// do not distinguish upper and lower case.
    pub(crate) fn is_untracked(&self, path: &AbsPath) -> bool {
        let is_name = |names: &HashSet<String>, below: &str| {
            names.contains(below) || names.iter().any(|name| name.eq_ignore_ascii_case(below))
        };
        self.is_listed(path, is_name) == Some(false)
    }

    /// Returns whether a directory is in a repository and certainly contains no file of its index.
    pub(crate) fn has_no_tracked_file(&self, directory: &AbsPath) -> bool {
        let is_within = |name: &String, below: &str| {
            let (start, rest) = name.split_at_checked(below.len()).unwrap_or_default();
            start.eq_ignore_ascii_case(below) && (rest.is_empty() || rest.starts_with('/'))
        };
        let has = |names: &HashSet<String>, below: &str| {
            !below.is_ascii() || names.iter().any(|name| is_within(name, below))
        };
        self.is_listed(directory, has) == Some(false)
    }

    /// Returns whether the index of a repository above a file may have its name, or `None` if there
    /// is no repository. All of them are examined: a repository or an empty `.git` in between does
    /// not remove a file from the index of the outer one.
    fn is_listed(
        &self,
        path: &AbsPath,
        has: impl Fn(&HashSet<String>, &str) -> bool,
    ) -> Option<bool> {
        let above = Path::new(path.as_str()).ancestors().skip(1);
        let trees = above.filter(|above| above.join(".git").symlink_metadata().is_ok());
        let listed: Vec<bool> = trees.map(|tree| self.is_listed_in(tree, path, &has)).collect();
        (!listed.is_empty()).then(|| listed.contains(&true))
    }

    fn is_listed_in(
        &self,
        tree: &Path,
        path: &AbsPath,
        has: &impl Fn(&HashSet<String>, &str) -> bool,
    ) -> bool {
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
            path.strip_prefix(tree).is_none_or(|below| has(names, below))
        })
    }
}
