//! One call that is held: what it wants, with which socket, and how it ends.

use std::{
    ffi::{OsStr, OsString},
    fs, io,
    os::{
        fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
        unix::ffi::{OsStrExt as _, OsStringExt as _},
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

/// Paths are no longer, their end included (`PATH_MAX`).
const LONGEST_PATH: usize = 4096;
const PAGE: usize = 4096;

/// A call that is held.
pub(crate) struct Call<'a> {
    held: Held,
    listener: BorrowedFd<'a>,
}

/// The number may be that of any thread (6.9); older kernels want the first one.
const OF_A_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0x80);

impl<'a> Call<'a> {
    pub(super) const fn new(held: Held, listener: BorrowedFd<'a>) -> Self {
        Self { held, listener }
    }

    /// Which call it is (`SYS_…`).
    pub(crate) const fn number(&self) -> i64 {
        self.held.number
    }

    /// Returns an argument that is an `int`: the kernel looks at its lower half alone.
    pub(crate) fn int(&self, at: usize) -> i32 {
        let word = self.held.arguments.get(at).copied().unwrap_or_default();
        u32::try_from(word & 0xffff_ffff).unwrap_or_default().cast_signed()
    }

    /// Lets the call be made after all. Only the kernel's own refusal must hang on it: by now, something else may stand in the
    /// caller's memory.
    pub(crate) fn go_on(&self) {
        drop(sys::let_go_on(self.listener, self.held.id));
    }

    /// Lets the call return an open file.
    pub(crate) fn give(&self, file: &OwnedFd, close_on_exec: bool) {
        let given = sys::give_held(self.listener, self.held.id, file.as_fd(), close_on_exec);
        if let Err(error) = given {
            self.answer(Err(errno(&error)));
        }
    }

    /// Lets the call return. Whoever was killed meanwhile is not told.
    pub(crate) fn answer(&self, result: Result<(), Errno>) {
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

    /// Copies the path that an argument points to out of the caller's memory. Nobody looks there again.
    pub(crate) fn path(&self, at: usize) -> Result<PathBuf, Errno> {
        let mut next = self.held.arguments.get(at).copied().unwrap_or_default();
        let mut path = Vec::new();
        while path.len() < LONGEST_PATH {
            // What lies behind the end of a path, on the next page, need not be there.
            let left = PAGE - usize::try_from(next).map_err(|_| Errno::FAULT)? % PAGE;
            let mut bytes = vec![0; left.min(LONGEST_PATH - path.len())];
            sys::copy_memory(self.held.thread, next, &mut bytes).map_err(|error| errno(&error))?;
            next = next.checked_add(bytes.len() as u64).ok_or(Errno::FAULT)?;
            let end = bytes.iter().position(|byte| *byte == 0);
            path.extend(bytes.iter().take(end.unwrap_or(bytes.len())));
            if end.is_some() {
                self.still()?;
                return Ok(OsString::from_vec(path).into());
            }
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Returns the directory that a relative path counts from, as the caller sees it: the working directory, or an open one.
    pub(crate) fn base(&self, directory: i32) -> Result<PathBuf, Errno> {
        let at = match directory {
            libc::AT_FDCWD => self.proc("cwd"),
            number => self.proc(&format!("fd/{number}")),
        };
        fs::read_link(at).map_err(|error| errno(&error))
    }

    /// Opens what the caller calls by this path, without rights to it but to know which it is.
    pub(super) fn open(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path = self.base(libc::AT_FDCWD)?.join(Path::new(OsStr::from_bytes(path)));
        self.look_at(&path, OFlags::empty())
    }

    /// Opens what lies at a path from the caller's root, without rights to it but to know which it is. No way leads out of what
    /// the caller sees.
    pub(crate) fn look_at(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let place = OFlags::PATH | OFlags::CLOEXEC;
        let root = open(self.proc("root"), place | OFlags::DIRECTORY, Mode::empty())?;
        self.still()?;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        openat2(&root, path, place | flags, Mode::empty(), inside)
    }

    /// Returns the mask that the caller has for the modes of new files.
    pub(crate) fn umask(&self) -> Result<Mode, Errno> {
        let status = self.status()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
        self.still()?;
        mask.map(Mode::from_raw_mode).ok_or(Errno::SRCH)
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
                let status = self.status()?;
                let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
                let group = group.and_then(|group| group.trim().parse().ok()).ok_or(Errno::SRCH)?;
                pidfd_open(pid(group)?, PidfdFlags::empty())
            }
            process => process,
        }
    }

    fn status(&self) -> Result<String, Errno> {
        fs::read_to_string(self.proc("status")).map_err(|error| errno(&error))
    }

    /// Says that the caller still waits: what was opened by its number was its own.
    pub(crate) fn still(&self) -> Result<(), Errno> {
        sys::is_held(self.listener, self.held.id).then_some(()).ok_or(Errno::SRCH)
    }

    fn proc(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.held.thread))
    }
}

/// Returns a path that means just this open file.
pub(crate) fn name_of(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
