//! Other names of what must not be read: a hard link is the same file, and no directory that is hidden hides it.

use std::{
    collections::BTreeSet,
    fs::Metadata,
    io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Confined};

use super::{
    aliases, outermost,
    walk::{FOR_A_WARNING, Walk},
};

/// Returns the profile with the other places where what must not be read is mounted, and with the other names that such
/// files have in writable directories. Those directories are searched only if there is a file that has another name
/// somewhere.
///
/// Names elsewhere are not looked for: that would be the whole disk.
///
/// # Errors
/// Where else something is mounted cannot be told.
pub(crate) fn with_other_names(profile: &Confined) -> io::Result<Confined> {
    let mut profile = profile.clone();
    let unreadable = profile.unreadable.iter().map(|path| PathBuf::from(path.as_str())).collect();
    let mut secrets = BTreeSet::new();
    each_linked(unreadable, &mut |_, file| {
        secrets.insert(file);
    });
    if !secrets.is_empty() {
        let mut names = Vec::new();
        each_linked(outermost(&profile.writable), &mut |path, file| {
            names.extend(secrets.contains(&file).then(|| path.to_owned()));
        });
        let said = names.iter().filter_map(|name| AbsPath::new(name.to_str()?).ok());
        profile.unreadable.extend(said);
    }
    aliases::add(&mut profile.unreadable)?;
    Ok(profile)
}

/// Goes through all files at and below these places that have more than one name.
fn each_linked(places: Vec<PathBuf>, see: &mut dyn FnMut(&Path, (u64, u64))) {
    for place in &places {
        take(place, see);
    }
    let directories = places.into_iter().filter(|place| place.is_dir());
    let walk = Walk {
        asked: &|_| true,
        skipped: &super::holds_objects,
        open: &|_| false,
        limit: FOR_A_WARNING,
    };
    // What is too much to be searched is said of the roots anyhow.
    drop(walk.go(directories, |listing| {
        listing.names.iter().for_each(|name| take(&listing.path.join(name), see));
    }));
}

fn take(path: &Path, see: &mut dyn FnMut(&Path, (u64, u64))) {
    let linked = |found: &Metadata| found.is_file() && found.nlink() > 1;
    if let Some(found) = path.symlink_metadata().ok().filter(linked) {
        see(path, (found.dev(), found.ino()));
    }
}
