//! Other names of what must not be read: a hard link is the same file, and no directory that is hidden hides it.

use std::{collections::BTreeSet, io, path::PathBuf};

use openoxide_protocol::{AbsPath, SandboxRestrictions};

use crate::protected_paths::{
    linked_files::LinkedFileSearch, mount_aliases, writable_roots::outermost_roots,
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
    let search = LinkedFileSearch { is_skipped: &|_| false, is_cancelled: &|| false };
    let mut secrets = BTreeSet::new();
    search.run(unreadable, &mut |_, found| {
        secrets.insert((found.st_dev, found.st_ino));
    });
    if !secrets.is_empty() {
        let mut names = Vec::new();
        search.run(outermost_roots(&profile.writable), &mut |path, found| {
            names.extend(secrets.contains(&(found.st_dev, found.st_ino)).then_some(path));
        });
        let said = names.iter().filter_map(|name| AbsPath::new(name.to_str()?).ok());
        profile.unreadable.extend(said);
    }
    mount_aliases::add_aliases(&mut profile.unreadable)?;
    Ok(profile)
}
