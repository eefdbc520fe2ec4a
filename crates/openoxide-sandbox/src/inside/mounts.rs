//! The world of files: everything read-only, and on top of that what may be written, what may not after all, and what is
//! not to be seen.
//!
//! All is done in place: what is not mentioned stays where it is. The order matters: whoever mounts something first looks
//! at what lies below.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, Temp};
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat, openat2},
    mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree},
    path::Arg,
};

use super::{devices, temporary};
use crate::{
    Guard, Guarded, Launch,
    error::{SandboxError, Step as _},
    sys::{Attributes, set_attributes},
};

/// Makes all mounts.
pub(super) fn make(
    launch: &Launch,
    guarded: &Guarded,
    passed_over: &[PathBuf],
) -> Result<(), SandboxError> {
    set("/", Attributes { private: true, recursive: true, ..Attributes::default() })
        .step(|| "keeping mounts to itself".to_owned())?;
    let devices = devices::take().step(|| "taking devices".to_owned())?;
    let writable = take_all(launch)?;
    let everything = Attributes {
        set: Attributes::READ_ONLY | Attributes::NO_SETUID | Attributes::NO_DEVICES,
        recursive: true,
        ..Attributes::default()
    };
    set("/", everything).step(|| "making all files read-only".to_owned())?;
    if launch.profile.temp == Temp::Private {
        temporary::mount_all().step(|| "making directories for temporary files".to_owned())?;
    }
    devices::mount(devices).step(|| "making devices".to_owned())?;
    processes().step(|| "mounting /proc".to_owned())?;
    for (path, tree) in &writable {
        temporary::make_place(path).step(|| format!("making `{path}`"))?;
        put(tree, path).step(|| format!("mounting `{path}`"))?;
    }
    for path in &guarded.pins {
        pin(path).step(|| format!("pinning `{}`", path.display()))?;
    }
    for (path, guard) in guarded.guards.iter().filter(|(path, _)| !passed_over.contains(path)) {
        keep(path, *guard).step(|| format!("guarding `{}`", path.display()))?;
    }
    for path in &launch.profile.unreadable {
        hide(path).step(|| format!("hiding `{path}`"))?;
    }
    Ok(())
}

/// Takes the trees that stay writable, before everything becomes read-only; and, read-only, what would be hidden by the
/// private temporary directories although it is needed.
fn take_all(launch: &Launch) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let mut taken = Vec::new();
    for path in &launch.profile.writable {
        let tree = take(path.as_str()).step(|| format!("opening `{path}`"))?;
        let plain = Attributes {
            set: Attributes::NO_SETUID | Attributes::NO_DEVICES,
            recursive: true,
            ..Attributes::default()
        };
        set_attributes(tree.as_fd(), c"", plain).step(|| format!("opening `{path}`"))?;
        taken.push((path.clone(), tree));
    }
    let inside = |path: &AbsPath| taken.iter().any(|(root, _)| path.below(root).is_some());
    if temporary::holds(&launch.cwd) && !inside(&launch.cwd) {
        let path = &launch.cwd;
        let tree = take(path.as_str()).step(|| format!("opening `{path}`"))?;
        let read_only = Attributes {
            set: Attributes::READ_ONLY | Attributes::NO_SETUID | Attributes::NO_DEVICES,
            recursive: true,
            ..Attributes::default()
        };
        set_attributes(tree.as_fd(), c"", read_only).step(|| format!("opening `{path}`"))?;
        taken.insert(0, (path.clone(), tree));
    }
    Ok(taken)
}

/// A fresh /proc, of the new processes alone, read-only: settings of the kernel lie there, too. Where a container covers
/// parts of its own, the kernel refuses a fresh one (it would show what is covered), and nothing is run.
fn processes() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    Ok(mount("proc", "/proc", "proc", flags, None)?)
}

/// Makes a directory a mount point: nobody can rename or remove one.
fn pin(path: &Path) -> io::Result<()> {
    let place = open(path)?;
    put_on(copy_of(&place)?, &place)
}

/// Puts a path, read-only, over itself.
fn keep(path: &Path, guard: Guard) -> io::Result<()> {
    let place = match guard {
        Guard::Present | Guard::Missing(_) => open(path)?,
        Guard::Link => open_link(path)?,
    };
    let tree = copy_of(&place)?;
    let read_only =
        Attributes { set: Attributes::READ_ONLY, recursive: true, ..Attributes::default() };
    set_attributes(tree.as_fd(), c"", read_only)?;
    put_on(&tree, &place)
}

/// Covers what must not be read by something empty. What is not there need not be hidden.
fn hide(path: &AbsPath) -> io::Result<()> {
    let place = match open(path.as_str()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        place => place?,
    };
    put_on(&temporary::nothing(&place)?, &place)
}

/// Copies a tree of mounts, so that it can be mounted elsewhere.
pub(super) fn take(path: &str) -> io::Result<OwnedFd> {
    copy_of(&open(path)?)
}

/// The same for a place that the user has named, by whatever links.
pub(super) fn take_where_it_leads(path: &str) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::DIRECTORY;
    copy_of(&openat(CWD, path, flags, Mode::empty())?)
}

fn copy_of(place: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    Ok(open_tree(place, c"", flags)?)
}

/// Mounts a copied tree.
pub(super) fn put(tree: &OwnedFd, path: &AbsPath) -> io::Result<()> {
    put_on(tree, &open(path.as_str())?)
}

pub(super) fn put_on(tree: impl AsFd, place: impl AsFd) -> io::Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    Ok(move_mount(tree, c"", place, c"", flags)?)
}

/// Opens a place without following any symbolic link: a link in the way would lead the mount elsewhere.
pub(super) fn open(path: impl Arg) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Opens a symbolic link itself. No link leads to it.
fn open_link(path: &Path) -> io::Result<OwnedFd> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    Ok(openat(open(parent)?, name, flags, Mode::empty())?)
}

pub(super) fn set(path: &str, attributes: Attributes) -> io::Result<()> {
    set_attributes(open(path)?.as_fd(), c"", attributes)
}
