//! The search for paths that match a filter of the caller, in large directories.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;

use crate::protected_paths::{
    directory_listing::newest_stamp, directory_snapshot::DirectorySnapshot,
    incremental_walk::IncrementalWalk, snapshot_cache::SnapshotCache,
};

/// A search for paths that match a filter. Directories that have not changed since an earlier search
/// with the same filter are not listed again. Symbolic links are not followed, and directories that
/// cannot be listed are left out.
#[expect(missing_debug_implementations, reason = "it consists of functions")]
pub struct PathFinder<'a> {
    /// The registry of the sandbox. The state of earlier searches is stored next to it. Without it,
    /// all directories are listed.
    pub registry: Option<&'a AbsPath>,
    /// A number that identifies the filter.
    pub filter_id: u64,
    /// The filter: a directory, a name in it, and whether that is a directory. The result must
    /// depend only on these.
    pub is_match: &'a dyn Fn(&Path, &OsStr, bool) -> bool,
    /// The filter for matching directories whose content is not searched.
    pub is_leaf: &'a dyn Fn(&Path) -> bool,
}

impl PathFinder<'_> {
    /// Returns the matching paths below these directories, which are not links. A directory comes
    /// before its contents.
    #[must_use]
    pub fn find(&self, roots: &[AbsPath]) -> Vec<PathBuf> {
        let open = |registry: &AbsPath| {
            SnapshotCache::open_for_filter(Path::new(registry.as_str()), self.filter_id)
        };
        let cache = self.registry.and_then(open);
        let roots: Vec<_> = roots.iter().map(|root| PathBuf::from(root.as_str())).collect();
        let known = cache.as_ref().map(|cache| cache.load(&roots)).unwrap_or_default();
        let (found, snapshot) = self.find_with_snapshot(&roots, known);
        // Without a stored snapshot, the next search lists everything.
        drop(cache.map(|cache| cache.store(&snapshot)));
        found
    }

    fn find_with_snapshot(
        &self,
        roots: &[PathBuf],
        known: DirectorySnapshot,
    ) -> (Vec<PathBuf>, DirectorySnapshot) {
        let walk = IncrementalWalk {
            is_relevant: &|entry| (self.is_match)(entry.directory, entry.name, entry.is_directory),
            is_leaf: self.is_leaf,
            skips_objects: false,
            skipped_paths: &BTreeSet::new(),
            make_accessible: &|_| false,
            before_reading: None,
            is_cancelled: &|| false,
            newest_stamp: newest_stamp(),
        };
        let mut found = Vec::new();
        let visit = |root: &PathBuf| {
            let result = walk.run(root, known.tree(root), &mut |listing| {
                found.extend(listing.names.iter().map(|name| listing.path.join(name)));
            });
            (root.clone(), result.visited)
        };
        let update = roots.iter().map(visit).collect();
        (found, known.with_update(update))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, thread::sleep, time::Duration};

    use super::*;

    fn find(root: &Path, registry: &AbsPath, filter_id: u64, ending: &str) -> Vec<PathBuf> {
        let finder = PathFinder {
            registry: Some(registry),
            filter_id,
            is_match: &|_, name, _| name.to_string_lossy().ends_with(ending),
            is_leaf: &|path| path.ends_with("leaf.pem"),
        };
        let mut found = finder.find(&[AbsPath::new(root.to_str().unwrap()).unwrap()]);
        found.sort();
        found.iter().map(|path| path.strip_prefix(root).unwrap().to_owned()).collect()
    }

    #[test]
    fn new_and_removed_files_are_found_and_each_filter_has_its_own_state() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap().join("root");
        let registry = AbsPath::new(root.with_file_name("state").to_str().unwrap()).unwrap();
        let at = |number: usize| root.join(format!("d{number}"));
        for number in 0..100 {
            fs::create_dir_all(at(number)).unwrap();
            fs::write(at(number).join("a.rs"), "").unwrap();
        }
        fs::write(at(7).join("key.pem"), "").unwrap();
        fs::create_dir_all(root.join("leaf.pem/below.pem")).unwrap();
        // Directories are trusted only if they were changed some time ago.
        sleep(Duration::from_millis(3_100));
        let expected = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        for _ in 0..2 {
            assert_eq!(find(&root, &registry, 1, ".pem"), expected(&["d7/key.pem", "leaf.pem"]));
        }
        fs::rename(at(7).join("key.pem"), at(8).join("key.pem")).unwrap();
        fs::create_dir_all(at(9).join("x/y.pem")).unwrap();
        let now = expected(&["d8/key.pem", "d9/x/y.pem", "leaf.pem"]);
        assert_eq!(find(&root, &registry, 1, ".pem"), now);
        assert_eq!(find(&root, &registry, 2, ".rs").len(), 100);
        assert_eq!(find(&root, &registry, 1, ".pem"), now);
    }
}
