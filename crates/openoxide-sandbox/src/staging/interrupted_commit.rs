//! Temporary entries of a process that was killed while it committed changes.

use std::{io, os::fd::AsFd, os::unix::ffi::OsStrExt as _, path::Path};

use rustix::fs::{AtFlags, FileType, unlinkat};

use crate::staging::{
    commit_entry::temporary_prefix,
    entry_state::stat_entry,
    staging_area::StagingArea,
    tree::{self, TreeOwner},
};

/// Removes what a process has left under temporary names. Such an entry is a copy of a staged file,
/// or an entry that was already replaced or removed.
pub(super) fn remove_temporary_entries(stage: &StagingArea, process: u32) -> io::Result<()> {
    let prefix = temporary_prefix(process);
    for root in &stage.roots {
        clean_directory(&root.upper, &root.directory, Path::new(""), &prefix)?;
    }
    Ok(())
}

/// Cleans a directory of the host, and those in it that the run has changed.
fn clean_directory(
    upper: impl AsFd,
    lower: impl AsFd,
    name: &Path,
    prefix: &str,
) -> io::Result<()> {
    let upper = tree::open_directory(TreeOwner::Staged, upper, name)?;
    // A directory that does not exist contains nothing.
    let Ok(lower) = tree::open_directory(TreeOwner::Host, lower, name) else { return Ok(()) };
    for entry in tree::list_names(&lower)? {
        let found = stat_entry(&lower, &entry)?;
        let is_own = found.is_some_and(|found| found.st_uid == own_user());
        if entry.as_bytes().starts_with(prefix.as_bytes()) && is_own {
            unlinkat(&lower, &entry, AtFlags::empty())?;
        }
    }
    for entry in tree::list_names(&upper)? {
        let found = stat_entry(&upper, &entry)?;
        let is_directory = |mode| FileType::from_raw_mode(mode) == FileType::Directory;
        if found.is_some_and(|found| is_directory(found.st_mode)) {
            clean_directory(&upper, &lower, Path::new(&entry), prefix)?;
        }
    }
    Ok(())
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
