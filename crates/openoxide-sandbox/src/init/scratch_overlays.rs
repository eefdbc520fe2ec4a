//! Cache directories that the program reads, and whose changes are private to the run.
//!
//! Tools fail if they cannot write their caches. Tools outside would trust anything that a confined
//! program wrote into the real ones. So each cache gets an overlay whose upper layer is in the
//! memory of the sandbox and disappears with it.

use std::{io, path::Path};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::CWD,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create,
        fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
    },
};

use crate::init::private_tmpfs::PrivateTmpfs;

/// Puts an overlay over each of these that is a directory. One that cannot have any stays read-only.
pub(super) fn mount_overlays(places: &[AbsPath], memory: &PrivateTmpfs) -> io::Result<()> {
    for (number, place) in places.iter().enumerate() {
        if Path::new(place.as_str()).is_dir() {
            // Some file systems cannot be the lower layer of an overlay, and older kernels do not
            // support overlays in a user namespace.
            drop(mount_overlay(place, number, memory));
        }
    }
    Ok(())
}

fn mount_overlay(place: &AbsPath, number: usize, memory: &PrivateTmpfs) -> io::Result<()> {
    let upper = memory.create_private_directory(&format!("upper-{number}"))?;
    let work = memory.create_private_directory(&format!("work-{number}"))?;
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    // Directories are separated by colons here.
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
