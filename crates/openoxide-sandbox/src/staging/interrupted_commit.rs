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
    for root in &stage.roots {
        clean_directory(&root.upper, &root.directory, Path::new(""), process)?;
    }
    Ok(())
}

/// Cleans a directory of the host, and those in it that the run has changed.
fn clean_directory(
    upper: impl AsFd,
    lower: impl AsFd,
    name: &Path,
    process: u32,
) -> io::Result<()> {
    let upper = tree::open_directory(TreeOwner::Staged, upper, name)?;
    // A directory that does not exist contains nothing.
    let Ok(lower) = tree::open_directory(TreeOwner::Host, lower, name) else { return Ok(()) };
    remove_temporary_names(&lower, process)?;
    for entry in tree::list_names(&upper)? {
        let found = stat_entry(&upper, &entry)?;
        let is_directory = |mode| FileType::from_raw_mode(mode) == FileType::Directory;
        if found.is_some_and(|found| is_directory(found.st_mode)) {
            clean_directory(&upper, &lower, Path::new(&entry), process)?;
        }
    }
    Ok(())
}

/// Removes the temporary entries of a process from a directory of the host.
pub(super) fn remove_temporary_names(directory: impl AsFd, process: u32) -> io::Result<()> {
    let prefix = temporary_prefix(process);
    for entry in tree::list_names(&directory)? {
        let found = stat_entry(&directory, &entry)?;
        let is_own = found.is_some_and(|found| found.st_uid == own_user());
        if entry.as_bytes().starts_with(prefix.as_bytes()) && is_own {
            unlinkat(&directory, &entry, AtFlags::empty())?;
        }
    }
    Ok(())
}

fn own_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
