//! Writable directories of a staged run: the program sees and changes them, and its changes are
//! stored elsewhere.

use std::{
    io,
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, SandboxRestrictions};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsconfig_set_flag,
    fsconfig_set_string, fsmount, fsopen,
};

use crate::{
    init::mount_operations::open_without_links,
    interface::{SandboxError, SetupContext as _},
    protected_paths::{PlaceholderKind, create_placeholder, outermost_roots},
    staging::OverlayLayer,
};

/// Creates an overlay for each writable directory that is not inside another one. This must be done
/// before everything becomes read-only: the overlay keeps its own reference to the directory that
/// stores the changes.
pub(super) fn create_overlays(
    place: &AbsPath,
    profile: &SandboxRestrictions,
) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let roots = outermost_roots(&profile.writable);
    let one = |(number, root): (usize, &PathBuf)| {
        let layer = OverlayLayer::new(Path::new(place.as_str()), number);
        let tree = create_overlay(root, &layer)
            .with_step(|| format!("staging `{}`: mounting an overlay", root.display()))?;
        let root = AbsPath::new(&root.to_string_lossy()).map_err(io::Error::other);
        Ok((root.with_step(|| "naming a directory".to_owned())?, tree))
    };
    roots.iter().enumerate().map(one).collect()
}

/// Creates an overlay. Directories are passed as descriptors, so that no character of a path has a
/// special meaning, and no link can be replaced in the meantime.
fn create_overlay(root: &Path, layer: &OverlayLayer) -> io::Result<OwnedFd> {
    let overlay = fsopen("overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
    let directories = [("lowerdir", root), ("upperdir", &layer.upper), ("workdir", &layer.work)];
    let mut kept = Vec::new();
    for (key, path) in directories {
        let directory = open_without_links(path)?;
        fsconfig_set_string(&overlay, key, format!("/proc/self/fd/{}", directory.as_raw_fd()))?;
        kept.push(directory);
    }
    fsconfig_set_string(&overlay, "index", "off")?;
    fsconfig_set_flag(&overlay, "userxattr")?;
    fsconfig_create(&overlay)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    Ok(fsmount(&overlay, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}

/// Creates placeholders for missing guarded paths, inside the sandbox only.
pub(super) fn create_placeholders(
    missing: &[(PathBuf, PlaceholderKind)],
) -> Result<(), SandboxError> {
    missing.iter().try_for_each(|(path, placeholder)| {
        create_placeholder(path, *placeholder)
            .with_step(|| format!("guarding `{}`", path.display()))
    })
}
