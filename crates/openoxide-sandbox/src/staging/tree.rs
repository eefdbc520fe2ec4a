//! Trees of files that a program has created, accessed only through descriptors. Directories that
//! the program made inaccessible belong to this user, and are made accessible for as long as
//! needed.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File},
    io,
    os::{
        fd::{AsFd, AsRawFd as _, OwnedFd},
        unix::ffi::OsStringExt as _,
    },
    path::Path,
};

use rustix::{
    fs::{
        AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags, chmod, chmodat, fstat, openat,
        openat2, renameat, unlinkat,
    },
    io::{Errno, fcntl_dupfd_cloexec},
};

/// Opens a directory by its path, which must not contain symbolic links.
pub(super) fn open_root(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?)
}

/// Opens an entry below a directory, on the same file system and without following symbolic links.
pub(super) fn open_below(directory: impl AsFd, rest: &Path) -> io::Result<OwnedFd> {
    let rest = if rest.as_os_str().is_empty() { Path::new(".") } else { rest };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    Ok(openat2(directory, rest, flags, Mode::empty(), how)?)
}

/// The owner of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreeOwner {
    /// A tree of a person. Its modes are never changed.
    Host,
    /// A staged tree. An entry that refuses access is made readable, opened, and gets its mode back
    /// immediately.
    Staged,
}

/// Opens a file below a directory, to read it.
pub(super) fn open_file(tree: TreeOwner, directory: impl AsFd, rest: &Path) -> io::Result<File> {
    let place = open_below(directory, rest)?;
    if FileType::from_raw_mode(fstat(&place)?.st_mode) != FileType::RegularFile {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok(open_readable(tree, &place, OFlags::RDONLY)?.into())
}

/// Opens a directory below another one for listing.
pub(super) fn open_directory(
    tree: TreeOwner,
    directory: impl AsFd,
    rest: &Path,
) -> io::Result<OwnedFd> {
    open_readable(tree, &open_below(directory, rest)?, OFlags::RDONLY | OFlags::DIRECTORY)
}

fn open_readable(tree: TreeOwner, place: &OwnedFd, flags: OFlags) -> io::Result<OwnedFd> {
    let name = descriptor_path(place);
    let open = || rustix::fs::open(name.as_str(), flags | OFlags::CLOEXEC, Mode::empty());
    match open() {
        Err(Errno::ACCESS) if tree == TreeOwner::Staged => {
            let mode = Mode::from_raw_mode(fstat(place)?.st_mode & 0o7777);
            chmod(name.as_str(), mode | Mode::RUSR | Mode::XUSR)?;
            let opened = open();
            chmod(name.as_str(), mode)?;
            Ok(opened?)
        }
        opened => Ok(opened?),
    }
}

/// Returns a path for a descriptor that was opened with `O_PATH`.
pub(super) fn descriptor_path(place: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", place.as_raw_fd())
}

/// Returns the names in a directory that was opened for reading, sorted.
pub(super) fn list_names(directory: impl AsFd) -> io::Result<Vec<OsString>> {
    let mut listing = Dir::new(fcntl_dupfd_cloexec(directory, 0)?)?;
    listing.rewind();
    let mut names = Vec::new();
    while let Some(entry) = listing.read() {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    names.sort();
    Ok(names)
}

/// Makes a staged directory accessible permanently. Returns its previous permissions if it refused
/// access.
pub(super) fn make_accessible(directory: impl AsFd, name: &OsStr) -> io::Result<Option<u32>> {
    let place = open_below(directory, Path::new(name))?;
    let mode = fstat(&place)?.st_mode & 0o7777;
    if mode & 0o700 == 0o700 {
        return Ok(None);
    }
    chmod(descriptor_path(&place), Mode::from_raw_mode(mode | 0o700))?;
    Ok(Some(mode & 0o777))
}

/// Removes a tree of any depth. The subdirectories of a directory are moved up before it is
/// removed.
pub(crate) fn remove_tree(place: &Path) -> io::Result<()> {
    let top = open_for_listing(CWD, place.as_os_str())?;
    let mut moved: u64 = 0;
    loop {
        let names = list_names(&top)?;
        if names.is_empty() {
            return fs::remove_dir(place);
        }
        for name in names {
            if !unlink_file(&top, &name)? {
                empty_directory(&top, &open_for_listing(&top, &name)?, &mut moved)?;
                unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }
}

fn empty_directory(top: &OwnedFd, directory: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    for name in list_names(directory)? {
        if !unlink_file(directory, &name)? {
            *moved += 1;
            // Moving a directory writes into it, because its `..` changes.
            chmodat(directory, &name, Mode::RWXU, AtFlags::empty())?;
            renameat(directory, &name, top, format!(".{moved}"))?;
        }
    }
    Ok(())
}

/// Removes an entry that is not a directory. Returns false if it is a directory.
fn unlink_file(directory: &OwnedFd, name: &OsStr) -> io::Result<bool> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => Ok(false),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(true),
    }
}

/// Opens a directory of OpenOxide for listing, and makes it accessible permanently.
fn open_for_listing(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(directory, name, flags, Mode::empty())?;
    chmod(descriptor_path(&place), Mode::RWXU)?;
    open_readable(TreeOwner::Staged, &place, OFlags::RDONLY | OFlags::DIRECTORY)
}
