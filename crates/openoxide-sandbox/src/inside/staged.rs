//! Writable directories of a staged run: the program sees them and changes them, and what it changes lies elsewhere.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Confined};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

use super::mounts::open;
use crate::{
    Placeholder,
    error::{SandboxError, Step as _},
    protect::outermost,
    registry,
    stage::Layer,
};

/// Makes an overlay for each writable directory that lies in no other one. It must be done before everything becomes read-only: the
/// overlay keeps its own way to the place where changes go.
pub(super) fn take_all(
    place: &AbsPath,
    profile: &Confined,
) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let roots = outermost(&profile.writable);
    let one = |(number, root): (usize, &PathBuf)| {
        let layer = Layer::of(Path::new(place.as_str()), number);
        let tree = overlay(root, &layer)
            .step(|| format!("staging `{}`: laying an overlay over it", root.display()))?;
        let root = AbsPath::new(&root.to_string_lossy()).map_err(io::Error::other);
        Ok((root.step(|| "naming a directory".to_owned())?, tree))
    };
    roots.iter().enumerate().map(one).collect()
}

/// Directories are named by descriptors: no character of a path means anything to the overlay, and nobody turns a link meanwhile.
fn overlay(root: &Path, layer: &Layer) -> io::Result<OwnedFd> {
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let directories = [("lowerdir", root), ("upperdir", &layer.upper), ("workdir", &layer.work)];
    let mut kept = Vec::new();
    for (key, path) in directories {
        let directory = open(path)?;
        fsconfig_set_string(&overlay, key, format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
        kept.push(directory);
    }
    fsconfig_set_string(&overlay, "index", "off")?;
    fsconfig_set_flag(&overlay, "userxattr")?;
    fsconfig_create(&overlay)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

/// Puts placeholders where something guarded is missing, inside alone.
pub(super) fn put_placeholders(missing: &[(PathBuf, Placeholder)]) -> Result<(), SandboxError> {
    missing.iter().try_for_each(|(path, placeholder)| {
        registry::make(path, *placeholder).step(|| format!("guarding `{}`", path.display()))
    })
}
