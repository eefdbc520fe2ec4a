//! Directories for temporary files of its own, and empty things.

use std::{
    fs, io,
    os::fd::{AsFd, OwnedFd},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{FileType, Mode, OFlags, fstat, openat},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, OpenTreeFlags, fsconfig_create,
        fsconfig_set_string, fsmount, fsopen, mount, open_tree,
    },
};

use crate::sys::{Attributes, set_attributes};

/// Where programs put temporary files.
const PLACES: &[&str] = &["/tmp", "/var/tmp"];

/// Mounts an empty directory over each that is one here. One that is a link leads to the other.
pub(super) fn mount_all() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    for place in PLACES {
        if fs::symlink_metadata(place).is_ok_and(|found| found.is_dir()) {
            mount("tmpfs", *place, "tmpfs", flags, c"mode=1777")?;
        }
    }
    Ok(())
}

/// Says whether a place is hidden by one of these.
pub(super) fn holds(path: &AbsPath) -> bool {
    PLACES
        .iter()
        .any(|place| path.as_str().strip_prefix(place).is_some_and(|rest| rest.starts_with('/')))
}

/// Makes the place again that one of these hides, of the kind that this is which is mounted there.
pub(super) fn make_place(path: &AbsPath, tree: impl AsFd) -> io::Result<()> {
    if !holds(path) {
        return Ok(());
    }
    if FileType::from_raw_mode(fstat(tree)?.st_mode) == FileType::Directory {
        return fs::create_dir_all(path.as_str());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory.as_str())?;
    }
    fs::OpenOptions::new().append(true).create(true).open(path.as_str()).map(drop)
}

/// Returns something empty that nobody may read, of the kind that can be mounted over this place.
pub(super) fn nothing(place: impl AsFd) -> io::Result<OwnedFd> {
    let directory = FileType::from_raw_mode(fstat(place)?.st_mode) == FileType::Directory;
    let new = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_set_string(new.as_fd(), "mode", "000")?;
    fsconfig_set_string(new.as_fd(), "size", "4k")?;
    fsconfig_create(new.as_fd())?;
    let sealed =
        if directory { MountAttrFlags::MOUNT_ATTR_RDONLY } else { MountAttrFlags::empty() };
    let tree = fsmount(new.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, sealed)?;
    if directory { Ok(tree) } else { nothing_file(&tree) }
}

/// An empty file in such a directory.
fn nothing_file(tree: &OwnedFd) -> io::Result<OwnedFd> {
    drop(openat(tree, c"x", OFlags::CREATE | OFlags::CLOEXEC | OFlags::WRONLY, Mode::empty())?);
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let file = open_tree(tree, c"x", flags)?;
    let read_only = Attributes { set: Attributes::READ_ONLY, ..Attributes::default() };
    set_attributes(file.as_fd(), c"", read_only)?;
    Ok(file)
}
