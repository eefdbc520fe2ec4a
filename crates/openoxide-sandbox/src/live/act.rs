//! Doing what was granted, with what was looked at and not with its path: what stands there by now is told from that.

use std::{ffi::OsStr, os::fd::OwnedFd};

use rustix::{
    fs::{
        AtFlags, Mode, OFlags, RenameFlags, Stat, fstat, mkdirat, open as open_path, openat,
        renameat_with, unlinkat,
    },
    io::Errno,
};

use super::spot::{Spot, look};
use crate::notify::name_of;

/// The flags that an open file keeps, and those of opening that change it.
const KEPT: OFlags = OFlags::RDWR
    .union(OFlags::WRONLY)
    .union(OFlags::APPEND)
    .union(OFlags::TRUNC)
    .union(OFlags::NONBLOCK)
    .union(OFlags::SYNC)
    .union(OFlags::DSYNC)
    .union(OFlags::DIRECT)
    .union(OFlags::NOATIME);

/// Opens the file, or makes it. What another call has made there meanwhile is opened if it is `fine` and has no other name.
pub(super) fn open(
    spot: &Spot,
    flags: OFlags,
    mode: Mode,
    fine: impl Fn(&Stat) -> bool,
) -> Result<OwnedFd, Errno> {
    if let Some(file) = spot.file() {
        return open_again(file, flags);
    }
    let new = (flags & KEPT) | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(spot.directory(), spot.name(), new, mode) {
        Err(Errno::EXIST) if !flags.contains(OFlags::EXCL) => {
            let file = look(spot.directory(), OsStr::new(spot.name()))?.ok_or(Errno::NOENT)?;
            let found = fstat(&file)?;
            let alone = fine(&found) && found.st_nlink == 1;
            if alone { open_again(&file, flags) } else { Err(Errno::ACCESS) }
        }
        made => made,
    }
}

/// Opens just this file, which is open as a place only.
fn open_again(file: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
    let flags = (flags & KEPT) | OFlags::CLOEXEC | OFlags::NOCTTY;
    open_path(name_of(file), flags, Mode::empty())
}

pub(super) fn make_directory(spot: &Spot, mode: Mode) -> Result<(), Errno> {
    mkdirat(spot.directory(), spot.name(), mode)
}

pub(super) fn remove(spot: &Spot, directory: bool) -> Result<(), Errno> {
    let flags = if directory { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    unchanged(spot)?;
    unlinkat(spot.directory(), spot.name(), flags)
}

pub(super) fn rename(from: &Spot, to: &Spot, flags: RenameFlags) -> Result<(), Errno> {
    unchanged(from)?;
    unchanged(to)?;
    renameat_with(from.directory(), from.name(), to.directory(), to.name(), flags)
}

/// Where somebody else was quicker, it is not what was asked about.
fn unchanged(spot: &Spot) -> Result<(), Errno> {
    spot.is_still().then_some(()).ok_or(Errno::ACCESS)
}
