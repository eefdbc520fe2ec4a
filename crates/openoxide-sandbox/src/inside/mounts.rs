//! The world of files: everything read-only, and on top of that what may be written, what may not after all, and what is
//! not to be seen.
//!
//! All is done in place: what is not mentioned stays where it is. The order matters: whoever mounts something first looks
//! at what lies below.

use std::{
    io,
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use openoxide_protocol::{AbsPath, Temp};
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    mount::{MountFlags, MoveMountFlags, OpenTreeFlags, mount, move_mount, open_tree},
    path::Arg,
};

use super::{
    devices, scratch, staged,
    temporary::{self, Memory},
};
use crate::{
    Launch,
    error::{SandboxError, Step as _},
    protect::Mounted,
    sys::{Attributes, set_attributes},
};

/// Makes all mounts.
pub(super) fn make(launch: &Launch, guards: &Mounted) -> Result<(), SandboxError> {
    set("/", Attributes { private: true, recursive: true, ..Attributes::default() })
        .step(|| "keeping mounts to itself".to_owned())?;
    let devices = devices::take().step(|| "taking devices".to_owned())?;
    let (writable, shown) = (take_all(launch)?, take_shown(launch)?);
    let everything = Attributes {
        set: Attributes::READ_ONLY | Attributes::NO_SETUID | Attributes::NO_DEVICES,
        recursive: true,
        ..Attributes::default()
    };
    set("/", everything).step(|| "making all files read-only".to_owned())?;
    let shared = memory(launch, &shown)?;
    devices::mount(devices, shared).step(|| "making devices".to_owned())?;
    processes().step(|| "mounting /proc".to_owned())?;
    put_all(&writable)?;
    staged::put_placeholders(&guards.placeholders)?;
    for pin in &guards.pins {
        keep(pin, Attributes::default()).step(|| format!("pinning `{}`", pin.display()))?;
    }
    for path in &guards.guards {
        guard(path).step(|| format!("guarding `{}`", path.display()))?;
    }
    for path in launch.profile.unreadable.iter().chain(&launch.staged) {
        hide(path).step(|| format!("hiding `{path}`"))?;
    }
    Ok(())
}

/// Makes the directories and caches that lie in memory. Returns that for memory that programs share.
fn memory(launch: &Launch, shown: &[(AbsPath, OwnedFd)]) -> Result<OwnedFd, SandboxError> {
    let making = || "making directories for temporary files".to_owned();
    let memory = Memory::mount(launch.limits).step(making)?;
    if launch.profile.temp == Temp::Private {
        memory.cover_places().step(making)?;
        put_all(shown)?;
        let scratch = scratch::mount_all(&launch.scratch, &memory);
        scratch.step(|| "making caches of its own".to_owned())?;
    }
    let shared = memory.directory("shm").step(making)?;
    memory.unmount().step(making)?;
    Ok(shared)
}

/// Takes the trees that stay writable, before everything becomes read-only.
fn take_all(launch: &Launch) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let taken = match &launch.staged {
        Some(place) => staged::take_all(place, &launch.profile)?,
        None => take_writable(launch)?,
    };
    for (path, tree) in &taken {
        let plain = Attributes {
            set: Attributes::NO_SETUID | Attributes::NO_DEVICES,
            recursive: true,
            ..Attributes::default()
        };
        set_attributes(tree.as_fd(), c"", plain).step(|| format!("opening `{path}`"))?;
    }
    Ok(taken)
}

/// Takes, read-only, what the private directories for temporary files would hide although it is to be seen: the working directory, and
/// what was named.
fn take_shown(launch: &Launch) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let within = |path: &AbsPath, of: &AbsPath| path.below(of).is_some();
    let is_writable =
        |path: &AbsPath| launch.profile.writable.iter().any(|root| within(path, root));
    let mut shown: Vec<(AbsPath, OwnedFd)> = Vec::new();
    for path in launch.shown.iter().chain([&launch.cwd]) {
        let seen = shown.iter().any(|(other, _)| within(path, other));
        if !temporary::holds(path) || is_writable(path) || seen {
            continue;
        }
        let tree = match take(path.as_str()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            tree => tree.step(|| format!("opening `{path}`"))?,
        };
        let read_only = Attributes {
            set: Attributes::READ_ONLY | Attributes::NO_SETUID | Attributes::NO_DEVICES,
            recursive: true,
            ..Attributes::default()
        };
        set_attributes(tree.as_fd(), c"", read_only).step(|| format!("opening `{path}`"))?;
        shown.push((path.clone(), tree));
    }
    Ok(shown)
}

/// Mounts trees that were taken, each in its place.
fn put_all(trees: &[(AbsPath, OwnedFd)]) -> Result<(), SandboxError> {
    for (path, tree) in trees {
        temporary::make_place(path, tree).step(|| format!("making `{path}`"))?;
        put(tree, path).step(|| format!("mounting `{path}`"))?;
    }
    Ok(())
}

fn take_writable(launch: &Launch) -> Result<Vec<(AbsPath, OwnedFd)>, SandboxError> {
    let one = |path: &AbsPath| {
        let tree = take(path.as_str()).step(|| format!("opening `{path}`"))?;
        Ok((path.clone(), tree))
    };
    launch.profile.writable.iter().map(one).collect()
}

/// A fresh /proc, of the new processes alone, read-only: settings of the kernel lie there, too. Where a container covers
/// parts of its own, the kernel refuses a fresh one (it would show what is covered), and nothing is run.
fn processes() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    Ok(mount("proc", "/proc", "proc", flags, None)?)
}

/// Mounts something read-only over itself.
pub(super) fn guard(path: &Path) -> io::Result<()> {
    keep(path, Attributes { set: Attributes::READ_ONLY, recursive: true, ..Attributes::default() })
}

/// Mounts something over itself. A link is not followed: it itself is mounted.
fn keep(path: &Path, attributes: Attributes) -> io::Result<()> {
    let place = open(path)?;
    let tree = open_tree(&place, c"", clone_flags() | OpenTreeFlags::AT_EMPTY_PATH)?;
    set_attributes(tree.as_fd(), c"", attributes)?;
    put_on(&tree, &place)
}

/// Covers what must not be read by something empty. What is not there need not be hidden.
pub(super) fn hide(path: &AbsPath) -> io::Result<()> {
    let place = match open(path.as_str()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        place => place?,
    };
    put_on(&temporary::nothing(&place)?, &place)
}

/// Copies a tree of mounts, so that it can be mounted elsewhere.
pub(super) fn take(path: &str) -> io::Result<OwnedFd> {
    let place = open(path)?;
    Ok(open_tree(&place, c"", clone_flags() | OpenTreeFlags::AT_EMPTY_PATH)?)
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

pub(super) fn set(path: &str, attributes: Attributes) -> io::Result<()> {
    set_attributes(open(path)?.as_fd(), c"", attributes)
}

fn clone_flags() -> OpenTreeFlags {
    OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE
}
