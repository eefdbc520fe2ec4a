//! The extended attributes that programs set on their files: those with the prefix `user.`.

use std::{
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd, AsRawFd as _},
        unix::ffi::OsStrExt as _,
    },
};

use rustix::{
    fs::{XattrFlags, fsetxattr, lgetxattr, llistxattr, removexattr, setxattr},
    io::Errno,
};

/// The maximum size of a list of names and of a value in the kernel.
const MAX_SIZE: usize = 1 << 16;

/// Names with their values, sorted.
pub(super) type ExtendedAttributes = Vec<(Vec<u8>, Vec<u8>)>;

/// Returns the attributes of the entry with this name in a directory. An attribute that cannot be
/// read is left out.
pub(super) fn read_attributes(directory: impl AsFd, name: &OsStr) -> ExtendedAttributes {
    // Most files have no attribute, which one system call shows.
    let mut path = format!("/proc/self/fd/{}/", directory.as_fd().as_raw_fd()).into_bytes();
    path.extend(name.as_bytes());
    let list = read_all(|buffer| llistxattr(path.as_slice(), buffer)).unwrap_or_default();
    let names = list.split(|byte| *byte == 0).filter(|name| is_own(name));
    let value = |name: &[u8]| {
        let value = read_all(|buffer| lgetxattr(path.as_slice(), name, buffer)).ok()?;
        Some((name.to_vec(), value))
    };
    let mut all: ExtendedAttributes = names.filter_map(value).collect();
    all.sort();
    all
}

/// Returns whether a program has set this attribute. Others with the prefix belong to the overlay.
fn is_own(name: &[u8]) -> bool {
    name.starts_with(b"user.") && !name.starts_with(b"user.overlay.")
}

fn read_all(mut read: impl FnMut(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    let mut buffer = vec![0; 256];
    loop {
        match read(&mut buffer) {
            Err(Errno::RANGE) if buffer.len() < MAX_SIZE => buffer.resize(MAX_SIZE, 0),
            length => {
                buffer.truncate(length?);
                return Ok(buffer);
            }
        }
    }
}

/// Sets the attributes of a new file that was opened for writing.
///
/// # Errors
/// Returns an error if the file system cannot store them.
pub(super) fn set_attributes(file: impl AsFd, all: &ExtendedAttributes) -> io::Result<()> {
    for (name, value) in all {
        fsetxattr(&file, name.as_slice(), value, XattrFlags::empty())?;
    }
    Ok(())
}

/// Replaces the attributes of an existing entry.
///
/// # Errors
/// Returns an error if the file system cannot store them.
pub(super) fn replace_attributes(
    path: &str,
    before: &ExtendedAttributes,
    after: &ExtendedAttributes,
) -> io::Result<()> {
    for (name, _) in before.iter().filter(|(name, _)| after.iter().all(|(kept, _)| kept != name)) {
        removexattr(path, name.as_slice())?;
    }
    for (name, value) in after.iter().filter(|one| !before.contains(one)) {
        setxattr(path, name.as_slice(), value, XattrFlags::empty())?;
    }
    Ok(())
}
