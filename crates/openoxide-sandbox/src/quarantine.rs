//! What was found is put where nobody runs it, until a person has said what becomes of it.

use std::{
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with},
    io::Errno,
};

use crate::SUFFIX;

/// How long a name can be (limits.h).
const NAME_MAX: usize = 255;

/// How many of one name can be put aside.
const HELD: u32 = 100;

/// Puts a hook or configuration aside: it gets a name beside its own that `git` does not know, which is returned. No file is
/// ever replaced.
///
/// # Errors
/// When it cannot be renamed; then it still has its name.
pub(crate) fn put_aside(path: &Path) -> io::Result<PathBuf> {
    let (directory, name) = place(path)?;
    for number in 1..=HELD {
        let aside = aside(name, number);
        match renameat_with(&directory, name, &directory, &aside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(path.with_file_name(aside)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

/// Returns the name that something gets when it is put aside. What would be longer than a name can be loses its end.
fn aside(name: &OsStr, number: u32) -> OsString {
    let suffix = if number == 1 { SUFFIX.to_owned() } else { format!("{SUFFIX}.{number}") };
    let kept = name.as_bytes().get(..NAME_MAX - suffix.len()).unwrap_or_else(|| name.as_bytes());
    let mut aside = OsStr::from_bytes(kept).to_owned();
    aside.push(suffix);
    aside
}

/// Gives what was put aside its name back, after a person has said so. No file is ever replaced.
///
/// # Errors
/// When it is not there any more, or there is something by its old name.
pub fn restore(path: &AbsPath, held: &AbsPath) -> io::Result<()> {
    let (path, held) = (Path::new(path.as_str()), Path::new(held.as_str()));
    let ((directory, name), (same, aside)) = (place(path)?, place(held)?);
    Ok(renameat_with(same, aside, directory, name, RenameFlags::NOREPLACE)?)
}

/// The directory, reached by no symbolic link, and the name in it.
fn place(path: &Path) -> io::Result<(OwnedFd, &OsStr)> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::NotFound.into());
    };
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
    Ok((directory, name))
}
