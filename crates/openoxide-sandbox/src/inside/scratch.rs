//! Caches in a home: read as they are, written for itself alone.
//!
//! Tools stop where they cannot write their caches. What a confined program wrote into the real ones, tools outside would
//! believe. So each gets an overlay whose upper half is the sandbox's own memory, and goes with it.

use std::{fs, io, path::Path};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::CWD,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MountFlags, MoveMountFlags, UnmountFlags,
        fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount,
        move_mount, unmount,
    },
};

/// Where the upper halves are while they are put in place. Nobody sees it afterwards.
const UPPER: &str = "/tmp/.upper";

/// Puts an overlay over each of these that is a directory. One that cannot have any stays read-only.
pub(super) fn mount_all(places: &[AbsPath]) -> io::Result<()> {
    if places.is_empty() {
        return Ok(());
    }
    fs::create_dir(UPPER)?;
    mount("tmpfs", UPPER, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=700")?;
    for (number, place) in places.iter().enumerate() {
        if Path::new(place.as_str()).is_dir() {
            // Some file systems cannot lie below an overlay, and older kernels know none in a user namespace.
            drop(over(place, number));
        }
    }
    unmount(UPPER, UnmountFlags::DETACH)?;
    fs::remove_dir(UPPER)
}

fn over(place: &AbsPath, number: usize) -> io::Result<()> {
    let (upper, work) = (format!("{UPPER}/{number}"), format!("{UPPER}/{number}-"));
    fs::create_dir(&upper)?;
    fs::create_dir(&work)?;
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // A colon divides directories here.
    let lower = place.as_str().replace('\\', "\\\\").replace(':', "\\:");
    fsconfig_set_string(&overlay, "lowerdir", lower)?;
    fsconfig_set_string(&overlay, "upperdir", upper)?;
    fsconfig_set_string(&overlay, "workdir", work)?;
    fsconfig_set_flag(&overlay, "userxattr")?;
    fsconfig_create(&overlay)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, flags)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    Ok(move_mount(&tree, c"", CWD, place.as_str(), flags)?)
}
