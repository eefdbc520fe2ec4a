//! Symbolic links in git directories. `git` of the host writes through them: a log of references or a
//! message that is a link to a start-up file would be written there.

use std::{
    ffi::OsStr,
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use crate::protected_paths::{DirectoryWalk, QUARANTINE_SUFFIX, is_object_directory};

/// The kernel gives up after as many symbolic links, too (`MAXSYMLINKS`).
const MAX_SYMLINKS: usize = 40;

/// Returns the links in a git directory that lead out of the writable directories and were created
/// or changed since this time. No program can set the time of the last change (`st_ctime`).
pub(super) fn find_outward_links(directory: &Path, roots: &[PathBuf], since: i64) -> Vec<PathBuf> {
    let mut links = Vec::new();
    let walk = DirectoryWalk {
        is_relevant: &|_| true,
        is_skipped: &|path| path.ends_with("objects") && is_object_directory(path),
        make_accessible: &|_| false,
    };
    let _unsearched = walk.run([directory.to_owned()], |listing| {
        let paths = listing.names.iter().map(|name| listing.path.join(name));
        links.extend(paths.filter(|path| is_outward_link(path, roots, since)));
    });
    links
}

fn is_quarantine_name(name: &OsStr) -> bool {
    name.as_bytes()
        .windows(QUARANTINE_SUFFIX.len())
        .any(|part| part == QUARANTINE_SUFFIX.as_bytes())
}

/// Returns whether this is a link that leads out of the writable directories and was created or
/// changed since this time.
pub(super) fn is_outward_link(path: &Path, roots: &[PathBuf], since: i64) -> bool {
    let is_new = path
        .symlink_metadata()
        .is_ok_and(|found| found.is_symlink() && found.ctime() >= since.saturating_sub(1));
    let leads_inside =
        || resolve_link(path).is_some_and(|end| roots.iter().any(|root| end.starts_with(root)));
    is_new && !path.file_name().is_some_and(is_quarantine_name) && !leads_inside()
}

/// Returns the end of a chain of links, which may be a missing file in an existing directory.
fn resolve_link(path: &Path) -> Option<PathBuf> {
    let mut at = path.to_owned();
    for _ in 0..MAX_SYMLINKS {
        let directory = at.parent()?.canonicalize().ok()?;
        at = directory.join(at.file_name()?);
        match at.read_link() {
            Ok(target) => at = directory.join(target),
            Err(_) => return Some(at),
        }
    }
    None
}
