//! Opening of files below a directory, without following symbolic links.
//!
//! A path was resolved and checked before it is opened here. If a link has appeared on it since, the
//! file is another one, and it is not opened. With openat2(2), the kernel checks this in one step.
//! Where it does not exist, each component is opened in turn.

use std::{
    ffi::OsStr,
    io,
    os::fd::{AsFd, OwnedFd},
    path::{Component, Path},
};

use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, mkdirat, openat, openat2},
    io::Errno,
};

/// The way in which paths are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenMethod {
    /// openat2(2) refuses links.
    Kernel,
    /// Each component is opened in turn, and refused if it is a link.
    Components,
}

/// The number of attempts if the kernel cannot decide because of a concurrent rename.
const MAX_ATTEMPTS: usize = 100;

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl OpenMethod {
    /// Returns the best method on this machine.
    pub(crate) fn detect() -> Self {
        match openat2(CWD, "/", DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Ok(_) => Self::Kernel,
            Err(_) => Self::Components,
        }
    }

    /// Opens a directory by its real path.
    ///
    /// # Errors
    /// Returns an error if it does not exist or if the path has a link.
    pub(crate) fn open_root(self, root: &Path) -> io::Result<OwnedFd> {
        match self {
            Self::Kernel => open_in_kernel(CWD, root, DIRECTORY, ResolveFlags::empty()),
            Self::Components => {
                let top = openat(CWD, "/", DIRECTORY, Mode::empty())?;
                walk(top, root)
            }
        }
    }

    /// Opens a file below a directory. An empty path is the directory itself.
    ///
    /// # Errors
    /// Returns an error if it does not exist, if the path has a link, or if it leads out of the
    /// directory.
    pub(crate) fn open_below(
        self,
        directory: impl AsFd,
        path: &Path,
        flags: OFlags,
    ) -> io::Result<OwnedFd> {
        let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        if self == Self::Kernel {
            return open_in_kernel(directory, path, flags, ResolveFlags::BENEATH);
        }
        let (parent, name) = match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => (parent, name),
            _ => (Path::new(""), OsStr::new(".")),
        };
        let parent = walk(duplicate(directory)?, parent)?;
        Ok(openat(&parent, name, flags, Mode::empty())?)
    }

    /// Opens a directory below another one, and creates the missing ones.
    ///
    /// # Errors
    /// Returns an error if a component is no directory or cannot be created.
    pub(crate) fn create_directories(
        self,
        directory: impl AsFd,
        path: &Path,
    ) -> io::Result<OwnedFd> {
        match self.open_below(directory.as_fd(), path, DIRECTORY) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        let mut current = duplicate(directory)?;
        for name in normal_components(path)? {
            match mkdirat(&current, name, Mode::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            current = open_component(&current, name)?;
        }
        Ok(current)
    }
}

/// Opens a path with openat2(2).
fn open_in_kernel(
    directory: impl AsFd,
    path: &Path,
    flags: OFlags,
    more: ResolveFlags,
) -> io::Result<OwnedFd> {
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | more;
    let mut last = Errno::AGAIN;
    for _ in 0..MAX_ATTEMPTS {
        match openat2(directory.as_fd(), path, flags, Mode::empty(), resolve) {
            Err(error @ (Errno::AGAIN | Errno::INTR)) => last = error,
            opened => return Ok(opened?),
        }
    }
    Err(last.into())
}

/// Opens each directory of a path in turn.
fn walk(mut current: OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    for name in normal_components(path)? {
        current = open_component(&current, name)?;
    }
    Ok(current)
}

/// Opens a directory in another one. A link is an error, because it is no directory.
fn open_component(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    Ok(openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Returns the names in a path. `..` is refused.
fn normal_components(path: &Path) -> io::Result<Vec<&OsStr>> {
    let names = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(Ok(name)),
        Component::CurDir | Component::RootDir => None,
        Component::ParentDir | Component::Prefix(_) => Some(Err(Errno::XDEV.into())),
    });
    names.collect()
}

fn duplicate(directory: impl AsFd) -> io::Result<OwnedFd> {
    directory.as_fd().try_clone_to_owned()
}
