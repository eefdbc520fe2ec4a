//! What was found is put where nobody runs it, until a person has said what becomes of it.

use std::{
    ffi::{OsStr, OsString},
    io::{self, ErrorKind},
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with},
    io::Errno,
};

/// How a name ends that was put aside.
pub(crate) const SUFFIX: &str = ".held-by-openoxide";

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
        let mut aside = OsString::from(name);
        aside.push(if number == 1 { SUFFIX.to_owned() } else { format!("{SUFFIX}.{number}") });
        match renameat_with(&directory, name, &directory, &aside, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(path.with_file_name(aside)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
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
