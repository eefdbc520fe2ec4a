//! The writable directories of the profile. The kernel decides about changes in them.

use std::{
    collections::BTreeSet,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{CWD, Mode, OFlags, ResolveFlags, openat2},
    io::Errno,
};

use crate::file_requests::requested_path::RequestedPath;

/// The writable directories, which are kept open.
pub(super) struct WritableRoots(Vec<(PathBuf, OwnedFd)>);

const PATH_FLAGS: OFlags = OFlags::PATH.union(OFlags::CLOEXEC);

impl WritableRoots {
    /// Opens the directories. Those that cannot be opened are left out.
    pub(super) fn open(roots: &BTreeSet<AbsPath>) -> Self {
        let open = |root: &AbsPath| {
            let resolve = ResolveFlags::NO_SYMLINKS;
            let opened = openat2(CWD, root.as_str(), PATH_FLAGS, Mode::empty(), resolve).ok()?;
            Some((PathBuf::from(root.as_str()), opened))
        };
        Self(roots.iter().filter_map(open).collect())
    }

    /// Returns whether a path leads to a file in one of the directories, without any symbolic link
    /// on the way. This takes two system calls. The answer does not grant anything: a call that
    /// continues is checked by the kernel.
    pub(super) fn contain(&self, file: &RequestedPath) -> bool {
        self.0.iter().any(|(path, opened)| {
            let Ok(below) = file.path.strip_prefix(path) else { return false };
            let leads_to = |below: &Path| {
                let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
                let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::BENEATH;
                openat2(opened, below, PATH_FLAGS, Mode::empty(), resolve)
            };
            match leads_to(below) {
                Ok(_) => true,
                Err(Errno::NOENT) => below.parent().is_some_and(|above| leads_to(above).is_ok()),
                Err(_) => false,
            }
        })
    }
}
