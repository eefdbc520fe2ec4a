//! Operations on single mounts: cloning, attaching, binding, and changing attributes.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree},
    path::Arg,
};

use crate::sys::{MountAttributes, set_attributes};

/// Mounts a path read-only over itself.
pub(super) fn bind_read_only(path: &Path) -> io::Result<()> {
    bind_over_itself(
        path,
        MountAttributes {
            set: MountAttributes::READ_ONLY,
            recursive: true,
            ..MountAttributes::default()
        },
    )
}

/// Mounts a path over itself. A symbolic link is not followed, but mounted itself.
pub(super) fn bind_over_itself(path: &Path, attributes: MountAttributes) -> io::Result<()> {
    let place = open_without_links(path)?;
    let tree = open_tree(&place, c"", clone_flags() | OpenTreeFlags::AT_EMPTY_PATH)?;
    set_attributes(tree.as_fd(), c"", attributes)?;
    attach_tree_at(&tree, &place)
}

/// Mounts a symbolic link over a file. The link is reached at the path of the file and cannot be
/// removed, renamed or replaced there, because it is a mount point.
pub(super) fn mount_link(link: &Path, path: &Path) -> io::Result<()> {
    let place = open_without_links(path)?;
    let tree = open_tree(CWD, link, clone_flags() | OpenTreeFlags::AT_SYMLINK_NOFOLLOW)?;
    attach_tree_at(&tree, &place)
}

/// Clones a tree of mounts, so that it can be attached elsewhere.
pub(super) fn clone_tree(path: &str) -> io::Result<OwnedFd> {
    let place = open_without_links(path)?;
    Ok(open_tree(&place, c"", clone_flags() | OpenTreeFlags::AT_EMPTY_PATH)?)
}

/// Attaches a cloned tree.
pub(super) fn attach_tree(tree: &OwnedFd, path: &AbsPath) -> io::Result<()> {
    attach_tree_at(tree, &open_without_links(path.as_str())?)
}

pub(super) fn attach_tree_at(tree: impl AsFd, place: impl AsFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, c"", place, c"", flags)?)
}

/// Opens a path without following any symbolic link, which could redirect the mount.
pub(super) fn open_without_links(path: impl Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

pub(super) fn set_path_attributes(path: &str, attributes: MountAttributes) -> io::Result<()> {
    set_attributes(open_without_links(path)?.as_fd(), c"", attributes)
}

fn clone_flags() -> OpenTreeFlags {
    OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE
}
