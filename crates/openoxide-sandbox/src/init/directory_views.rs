//! Views of directories that contain missing unreadable paths: a file system in memory with the
//! existing entries, each mounted at its own path.

use std::{
    ffi::OsStr,
    io,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::{
    fs::{AtFlags, FileType, Mode, OFlags, fstat, mkdirat, openat, readlinkat, statat, symlinkat},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, OpenTreeFlags, fsconfig_create,
        fsconfig_set_string, fsmount, fsopen, open_tree,
    },
};

use crate::{
    init::mount_operations::{attach_tree_at, clone_flags, open_without_links},
    interface::{SandboxError, SetupContext as _},
    protected_paths::DirectoryView,
    sys::{MountAttributes, set_attributes},
};

/// Mounts these views. An outer directory comes before its contents.
pub(super) fn mount_views<'a>(
    views: impl IntoIterator<Item = &'a DirectoryView>,
) -> Result<(), SandboxError> {
    views.into_iter().try_for_each(|view| {
        mount_view(view).with_step(|| format!("hiding new entries of `{}`", view.path.display()))
    })
}

fn mount_view(view: &DirectoryView) -> io::Result<()> {
    let Some(names) = view.list_names()? else { return Ok(()) };
    let original = open_without_links(&view.path)?;
    let tree = create_directory(fstat(&original)?.st_mode & 0o7777)?;
    attach_tree_at(&tree, &original)?;
    for name in names {
        match show_entry(&original, &tree, &name) {
            // It was removed in the meantime.
            Err(Errno::NOENT) => {}
            shown => shown?,
        }
    }
    let read_only =
        MountAttributes { set: MountAttributes::READ_ONLY, ..MountAttributes::default() };
    set_attributes(tree.as_fd(), c"", read_only)
}

/// Creates an empty directory in memory.
fn create_directory(mode: u32) -> io::Result<OwnedFd> {
    let new = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(new.as_fd(), "mode", format!("{mode:o}"))?;
    fsconfig_create(new.as_fd())?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(new.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

/// Shows one entry of the original directory. A link is created again, and any other entry is
/// mounted.
fn show_entry(original: &OwnedFd, tree: &OwnedFd, name: &OsStr) -> Result<(), Errno> {
    let found = statat(original, name, AtFlags::SYMLINK_NOFOLLOW)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::Symlink => {
            return symlinkat(readlinkat(original, name, Vec::new())?, tree, name);
        }
        FileType::Directory => mkdirat(tree, name, Mode::RWXU)?,
        _ => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
            drop(openat(tree, name, flags, Mode::empty())?);
        }
    }
    let entry = open_tree(original, name, clone_flags() | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(tree, name, flags, Mode::empty())?;
    attach_tree_at(entry, place).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
}
