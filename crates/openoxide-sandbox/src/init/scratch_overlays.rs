//! Cache directories that the program reads, and whose changes are private to the run.
//!
//! Tools fail if they cannot write their caches. Tools outside would trust anything that a confined
//! program wrote into the real ones. So each cache gets an overlay whose upper layer is in the
//! memory of the sandbox and disappears with it.

use std::{fs, io, path::Path};

use openoxide_protocol::{AbsPath, TempDirectories};
use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, fsconfig_create,
        fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, move_mount,
    },
};

use crate::{
    init::{directory_views::mount_views, private_tmpfs::PrivateTmpfs},
    interface::{LaunchConfig, SandboxError},
    protected_paths::DirectoryView,
};

/// Returns whether an overlay can hide what a view hides.
pub(super) fn is_scratch(launch: &LaunchConfig, view: &DirectoryView) -> bool {
    launch.profile.temp == TempDirectories::Private
        && launch.scratch_directories.iter().any(|place| is_within(view, place))
}

fn is_within(view: &DirectoryView, place: &AbsPath) -> bool {
    view.path.starts_with(place.as_str())
}

/// Mounts an overlay over each of these paths that is a directory. If that is not possible, the
/// directory stays read-only. `views` are the views of directories in them.
pub(super) fn mount_overlays(
    places: &[AbsPath],
    views: &[&DirectoryView],
    memory: &PrivateTmpfs,
) -> Result<(), SandboxError> {
    for (number, place) in places.iter().enumerate() {
        let views: Vec<_> = views.iter().copied().filter(|view| is_within(view, place)).collect();
        // Some file systems cannot be the lower layer of an overlay, and older kernels do not
        // support overlays in a user namespace.
        if !Path::new(place.as_str()).is_dir()
            || mount_overlay(place, number, &views, memory).is_err()
        {
            mount_views(views)?;
        }
    }
    Ok(())
}

fn mount_overlay(
    place: &AbsPath,
    number: usize,
    views: &[&DirectoryView],
    memory: &PrivateTmpfs,
) -> io::Result<()> {
    let upper = memory.create_private_directory(&format!("upper-{number}"))?;
    for view in views {
        create_whiteouts(view, Path::new(place.as_str()), Path::new(&upper))?;
    }
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

/// Creates whiteouts for the hidden names of a view. The overlay then shows no entry there, even if
/// one appears in the lower layer (overlayfs in the documentation of the kernel).
fn create_whiteouts(view: &DirectoryView, lower: &Path, upper: &Path) -> io::Result<()> {
    let below = view.path.strip_prefix(lower).map_err(io::Error::other)?;
    let (mut original, mut copy) = (lower.to_owned(), upper.to_owned());
    fs::set_permissions(&copy, original.metadata()?.permissions())?;
    for name in below {
        original.push(name);
        copy.push(name);
        fs::create_dir_all(&copy)?;
        fs::set_permissions(&copy, original.metadata()?.permissions())?;
    }
    for name in &view.hidden_names {
        mknodat(CWD, copy.join(name), FileType::CharacterDevice, Mode::empty(), 0)?;
    }
    Ok(())
}
