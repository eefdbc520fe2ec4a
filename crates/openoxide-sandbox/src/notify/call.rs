//! One call that is held: what it wants, with which socket, and how it ends.

use std::{
    fs, io,
    os::{
        fd::{AsRawFd as _, BorrowedFd, OwnedFd},
        unix::ffi::OsStrExt as _,
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, open, openat2},
    io::Errno,
    process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open},
};

use super::address::{Address, LONGEST};
use crate::sys::{self, Held};

/// A call of connect(2).
pub(super) struct Call<'a> {
    held: Held,
    listener: BorrowedFd<'a>,
}

/// The number may be that of any thread (6.9); older kernels want the first one.
const OF_A_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0x80);

impl<'a> Call<'a> {
    pub(super) const fn new(held: Held, listener: BorrowedFd<'a>) -> Self {
        Self { held, listener }
    }

    /// Lets the call return. Whoever was killed meanwhile is not told.
    pub(super) fn answer(&self, result: Result<(), Errno>) {
        let error = result.err().map_or(0, Errno::raw_os_error);
        drop(sys::answer_held(self.listener, self.held.id, error));
    }

    /// Copies the address out of the caller's memory. Nobody looks there again.
    pub(super) fn address(&self) -> Result<Address, Errno> {
        let [_, at, length, ..] = self.held.arguments;
        // The kernel takes an `int`.
        let length = usize::try_from(length & 0xffff_ffff).map_err(|_| Errno::INVAL)?;
        if length > 128 {
            return Err(Errno::INVAL);
        }
        let mut bytes = vec![0; length.min(LONGEST)];
        sys::copy_memory(self.held.thread, at, &mut bytes).map_err(|error| errno(&error))?;
        self.still()?;
        Address::read(&bytes)
    }

    /// Duplicates the caller's socket.
    pub(super) fn socket(&self) -> Result<OwnedFd, Errno> {
        let [number, ..] = self.held.arguments;
        let number = i32::try_from(number & 0xffff_ffff).map_err(|_| Errno::BADF)?;
        let process = self.process()?;
        self.still()?;
        pidfd_getfd(&process, number, PidfdGetfdFlags::empty())
    }

    /// Opens what the caller calls by this path, without rights to it but to know which it is.
    pub(super) fn open(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let place = OFlags::PATH | OFlags::CLOEXEC;
        let root = open(self.proc("root"), place | OFlags::DIRECTORY, Mode::empty())?;
        let below = fs::read_link(self.proc("cwd")).map_err(|error| errno(&error))?;
        self.still()?;
        let path = below.join(Path::new(std::ffi::OsStr::from_bytes(path)));
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        openat2(&root, path, place, Mode::empty(), inside)
    }

    /// Returns the mounts that the caller sees (proc_pid_mountinfo(5)).
    pub(super) fn mounts(&self) -> io::Result<String> {
        fs::read_to_string(self.proc("mountinfo"))
    }

    fn process(&self) -> Result<OwnedFd, Errno> {
        let pid =
            |number: u32| i32::try_from(number).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH);
        match pidfd_open(pid(self.held.thread)?, OF_A_THREAD) {
            Err(Errno::INVAL) => {
                let status =
                    fs::read_to_string(self.proc("status")).map_err(|error| errno(&error))?;
                let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
                let group = group.and_then(|group| group.trim().parse().ok()).ok_or(Errno::SRCH)?;
                pidfd_open(pid(group)?, PidfdFlags::empty())
            }
            process => process,
        }
    }

    /// Says that the caller still waits: what was opened by its number was its own.
    fn still(&self) -> Result<(), Errno> {
        sys::is_held(self.listener, self.held.id).then_some(()).ok_or(Errno::SRCH)
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.held.thread))
    }
}

/// Returns a path that means just this open file.
pub(super) fn name_of(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
