//! A socket in the file system of the host, resolved from the view of a confined process.

use std::{
    ffi::OsStr,
    fs, io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt as _, net::UnixStream},
    },
    path::Path,
};

use openoxide_protocol::AbsPath;
use rustix::{
    fs::{CWD, FileType, Mode, OFlags, ResolveFlags, Stat, fstat, openat2},
    io::Errno,
    net::{SocketAddrUnix, connect},
    process::geteuid,
};

use crate::seccomp::{PendingSyscall, descriptor_path};

/// The directories whose content a confined process does not see. Services put sockets there, too.
const HIDDEN_DIRECTORIES: [&str; 2] = ["/tmp/", "/var/tmp/"];
/// The user IDs below this one belong to the system (`SYS_UID_MAX` in login.defs(5)).
const FIRST_PERSONAL_USER: u32 = 1000;

/// A socket file of the host. It stays open, so that the connection is made to the file that was
/// checked.
#[derive(Debug)]
pub(super) struct HostSocket {
    file: OwnedFd,
    path: AbsPath,
    owner: u32,
    /// True if the path is missing inside, because the directory for temporary files is private.
    is_missing_inside: bool,
}

impl HostSocket {
    /// Resolves the path of a connect(2) call. The path must lead to the same file inside of the
    /// sandbox and outside. In the directories for temporary files, which are private to the
    /// sandbox, it may be missing inside.
    ///
    /// # Errors
    /// Returns the error that the kernel would return if the host had no such socket.
    pub(super) fn resolve(call: &PendingSyscall<'_>, path: &[u8]) -> Result<Self, Errno> {
        match call.open_path(path) {
            Ok(seen) => {
                let real = fs::read_link(descriptor_path(&seen)).map_err(|_| Errno::CONNREFUSED)?;
                let found = Self::open(&real)?;
                if is_same_file(&seen, &found.file)? { Ok(found) } else { Err(Errno::CONNREFUSED) }
            }
            Err(Errno::NOENT) if is_hidden(path) => {
                let found = Self::open(Path::new(OsStr::from_bytes(path)));
                found.map_or(Err(Errno::NOENT), |found| {
                    Ok(Self { is_missing_inside: true, ..found })
                })
            }
            Err(error) => Err(error),
        }
    }

    /// Opens a socket of the host at a path without links.
    pub(super) fn open(path: &Path) -> Result<Self, Errno> {
        let unusual = Errno::CONNREFUSED;
        let path = path.to_str().and_then(|text| AbsPath::new(text).ok()).ok_or(unusual)?;
        let straight = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = openat2(CWD, path.as_str(), flags, Mode::empty(), straight)?;
        let found = fstat(&file)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Socket {
            return Err(unusual);
        }
        Ok(Self { file, path, owner: found.st_uid, is_missing_inside: false })
    }

    /// Returns the real path.
    pub(super) const fn path(&self) -> &AbsPath {
        &self.path
    }

    /// Returns whether the path is missing inside.
    pub(super) const fn is_missing_inside(&self) -> bool {
        self.is_missing_inside
    }

    /// Returns whether the socket belongs to this user or to the system. A socket of another person
    /// could only exist to be connected to by mistake.
    pub(super) fn has_trusted_owner(&self) -> bool {
        self.owner == geteuid().as_raw() || self.owner < FIRST_PERSONAL_USER
    }

    /// Creates a connection to exactly this file.
    pub(super) fn connect_stream(&self) -> io::Result<UnixStream> {
        UnixStream::connect(descriptor_path(&self.file))
    }

    /// Connects a socket to exactly this file.
    pub(super) fn connect(&self, socket: &OwnedFd) -> Result<(), Errno> {
        connect(socket, &SocketAddrUnix::new(descriptor_path(&self.file))?)
    }
}

fn is_hidden(path: &[u8]) -> bool {
    HIDDEN_DIRECTORIES.iter().any(|directory| path.starts_with(directory.as_bytes()))
}

fn is_same_file(one: &OwnedFd, other: &OwnedFd) -> Result<bool, Errno> {
    let identity = |found: Stat| (found.st_dev, found.st_ino);
    Ok(identity(fstat(one)?) == identity(fstat(other)?))
}
