//! Views of directories that contain missing unreadable paths.
//!
//! A missing path cannot be covered, and it may appear while the program runs. So the program gets a
//! view of the directory, which contains only the entries that existed at the start.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::{OsStr, OsString},
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

/// Directories without views: those that the sandbox replaces or that contain no files, and `/etc`,
/// which has many entries. A view mounts each entry, and secrets seldom appear there.
const DIRECTORIES_WITHOUT_VIEWS: &[&str] = &["/proc", "/dev", "/sys", "/etc"];

/// A directory that is shown with only its existing entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryView {
    /// The directory.
    pub(crate) path: PathBuf,
    /// The names that must not appear in it.
    pub(crate) hidden_names: BTreeSet<OsString>,
}

impl DirectoryView {
    /// Returns the views that the missing unreadable paths of a profile need. An outer directory
    /// comes before its contents. Writable directories are left out, because the program changes
    /// them itself, and so are those that `is_replaced` names.
    pub(crate) fn find_all(
        profile: &SandboxRestrictions,
        is_replaced: impl Fn(&AbsPath) -> bool,
    ) -> Vec<Self> {
        let mut views = BTreeMap::<PathBuf, BTreeSet<OsString>>::new();
        let missing = profile.unreadable.iter().filter(|path| !is_replaced(path));
        for (directory, name) in missing.filter_map(find_missing_name) {
            views.entry(directory).or_default().insert(name);
        }
        views.retain(|directory, _| can_be_shown(profile, directory));
        let views = views.into_iter();
        views.map(|(path, hidden_names)| Self { path, hidden_names }).collect()
    }

    /// Lists the names that the view shows, or `None` if this user cannot list the directory.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read for another reason.
    pub(crate) fn list_names(&self) -> io::Result<Option<Vec<OsString>>> {
        let entries = match fs::read_dir(&self.path) {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
            entries => entries?,
        };
        let names = entries.map(|entry| entry.map(|entry| entry.file_name()));
        let shown = |name: &io::Result<OsString>| {
            name.as_ref().map_or(true, |name| !self.hidden_names.contains(name))
        };
        names.filter(shown).collect::<io::Result<_>>().map(Some)
    }
}

/// Returns the nearest existing directory above a missing path, and the name that is missing in it.
fn find_missing_name(path: &AbsPath) -> Option<(PathBuf, OsString)> {
    let mut missing: Option<&OsStr> = None;
    for place in Path::new(path.as_str()).ancestors() {
        match place.symlink_metadata() {
            Ok(found) if found.is_dir() => return Some((place.to_owned(), missing?.to_owned())),
            Err(error) if error.kind() == ErrorKind::NotFound => missing = place.file_name(),
            // A file is in the way, or the program cannot access it either.
            Ok(_) | Err(_) => return None,
        }
    }
    None
}

fn can_be_shown(profile: &SandboxRestrictions, directory: &Path) -> bool {
    let within = |paths: &BTreeSet<AbsPath>| {
        paths.iter().any(|path| directory.starts_with(Path::new(path.as_str())))
    };
    directory != Path::new("/")
        && !DIRECTORIES_WITHOUT_VIEWS.iter().any(|place| directory.starts_with(place))
        && !within(&profile.writable)
        && !within(&profile.unreadable)
}
