//! Hooks that a program has created or changed in a private copy. They wait for a person, next to
//! the place where programs of the host would run them.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

use crate::{
    interface::PostRunFinding,
    post_run::quarantine::{open_parent, quarantine_names},
    protected_paths::{HookTree, PrivateHooks, to_display_path, with_access},
};

/// Stores new and changed hooks of these directories, whose copies are in a directory, in
/// quarantine. Returns the findings about them.
#[must_use]
pub(crate) fn hold_private_hooks(copies: &OwnedFd, hooks: &[PrivateHooks]) -> Vec<PostRunFinding> {
    let changed = changed_hooks(copies, hooks).into_iter();
    changed.filter_map(|changed| hold_hook(&changed.path, &changed.tree).ok()).collect()
}

/// A new or changed entry of a directory with hooks.
pub(crate) struct ChangedHook {
    /// The path on the host.
    pub(crate) path: PathBuf,
    /// The entry, and what is below it.
    pub(crate) tree: HookTree,
}

/// Returns the outermost new and changed entries of these directories, whose copies are in a
/// directory.
pub(crate) fn changed_hooks(copies: &OwnedFd, hooks: &[PrivateHooks]) -> Vec<ChangedHook> {
    let changed = hooks.iter().enumerate().flat_map(|(number, before)| {
        let after = read_copy(copies, number).unwrap_or_default();
        let paths = before.tree.changed_paths(&after).into_iter();
        paths
            .map(move |path| ChangedHook { path: before.path.join(&path), tree: after.part(&path) })
    });
    changed.collect()
}

fn read_copy(copies: &OwnedFd, number: usize) -> Option<HookTree> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let copy = openat2(copies, format!("hooks-{number}"), flags, Mode::empty(), resolve);
    copy.ok().map(HookTree::read)
}

/// Stores one new or changed entry next to its place on the host.
///
/// # Errors
/// Returns an error if it cannot be written.
pub(crate) fn hold_hook(place: &Path, tree: &HookTree) -> io::Result<PostRunFinding> {
    let held = write_to_quarantine(place, tree)?;
    let paths = to_display_path(place).zip(to_display_path(&held));
    let (path, held) = paths.ok_or(io::ErrorKind::InvalidFilename)?;
    Ok(match place.symlink_metadata() {
        Ok(_) => PostRunFinding::ChangedHook { path, held },
        Err(_) => PostRunFinding::RepositoryHook { path, quarantined: Some(held) },
    })
}

/// Writes a tree to a name in quarantine, unless it is there already. Returns its path.
fn write_to_quarantine(place: &Path, tree: &HookTree) -> io::Result<PathBuf> {
    with_access(place, || {
        let (directory, name) = open_parent(place)?;
        for aside in quarantine_names(name) {
            // The directory cannot be replaced on the way.
            let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
            let path = Path::new(&path).join(&aside);
            match tree.write(&path) {
                Ok(()) => return Ok(place.with_file_name(aside)),
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(Errno::from_io_error(&error).unwrap_or(Errno::IO));
                }
                Err(_) if HookTree::read_at(&directory, &aside).as_ref() == Some(tree) => {
                    return Ok(place.with_file_name(aside));
                }
                Err(_) => {}
            }
        }
        Err(Errno::EXIST)
    })
    .map_err(io::Error::from)
}
