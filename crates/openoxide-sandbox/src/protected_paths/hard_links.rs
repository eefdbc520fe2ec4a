//! Other names of what must not be read: a hard link is the same file, and no directory that is hidden hides it.

use std::{
    collections::BTreeSet,
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use crate::protected_paths::{
    directory_walk::{DirectoryWalk, WARNING_SCAN_LIMIT},
    mount_aliases,
    repository::is_object_directory,
    writable_roots::outermost_roots,
};

/// Returns the profile with the aliases of its unreadable paths: their other mount points, and the
/// other names that these files have in writable directories. The writable directories are searched
/// only if one of the files has another name somewhere.
///
/// Names in other directories are not searched for, because that would mean the whole disk.
///
/// # Errors
/// Returns an error if the other mount points cannot be determined.
pub(crate) fn with_aliases(profile: &SandboxRestrictions) -> io::Result<SandboxRestrictions> {
    let mut profile = profile.clone();
    let unreadable = profile.unreadable.iter().map(|path| PathBuf::from(path.as_str())).collect();
    let mut secrets = BTreeSet::new();
    visit_hard_links(unreadable, &mut |_, file| {
        secrets.insert(file);
    });
    if !secrets.is_empty() {
        let mut names = Vec::new();
        visit_hard_links(outermost_roots(&profile.writable), &mut |path, file| {
            names.extend(secrets.contains(&file).then(|| path.to_owned()));
        });
        let said = names.iter().filter_map(|name| AbsPath::new(name.to_str()?).ok());
        profile.unreadable.extend(said);
    }
    mount_aliases::add_aliases(&mut profile.unreadable)?;
    Ok(profile)
}

/// Goes through all files at and below these places that have more than one name.
fn visit_hard_links(places: Vec<PathBuf>, see: &mut dyn FnMut(&Path, (u64, u64))) {
    for place in &places {
        visit_if_linked(place, see);
    }
    let directories = places.into_iter().filter(|place| place.is_dir());
    let walk = DirectoryWalk {
        is_relevant: &|_| true,
        is_skipped: &is_object_directory,
        make_accessible: &|_| false,
        before_listing: &|_| {},
        max_names: WARNING_SCAN_LIMIT,
    };
    // Directories with too many names are reported for the roots anyway.
    drop(walk.run(directories, |listing| {
        listing.names.iter().for_each(|name| visit_if_linked(&listing.path.join(name), see));
    }));
}

fn visit_if_linked(path: &Path, see: &mut dyn FnMut(&Path, (u64, u64))) {
    let linked = |found: &Metadata| found.is_file() && found.nlink() > 1;
    if let Some(found) = path.symlink_metadata().ok().filter(linked) {
        see(path, (found.dev(), found.ino()));
    }
}
