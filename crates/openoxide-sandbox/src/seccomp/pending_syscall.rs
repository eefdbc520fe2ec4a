//! One suspended system call: its arguments, its socket, and its result.

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

use crate::{
    seccomp::socket_address::{MAX_ADDRESS_LEN, SocketAddress},
    sys::{self, SeccompNotification},
};

/// The maximum length of a path, including its terminating null byte (`PATH_MAX`).
const MAX_PATH_LEN: usize = 4096;
const PAGE_BYTES: usize = 4096;

/// A suspended system call.
pub(crate) struct PendingSyscall<'a> {
    notification: SeccompNotification,
    listener: BorrowedFd<'a>,
}

/// Accepts the ID of any thread (Linux 6.9). Older kernels require that of the first thread.
const PIDFD_THREAD: PidfdFlags = PidfdFlags::from_bits_retain(0x80);

impl<'a> PendingSyscall<'a> {
    pub(crate) const fn new(notification: SeccompNotification, listener: BorrowedFd<'a>) -> Self {
        Self { notification, listener }
    }

    /// Returns the number of the call (`SYS_…`).
    pub(crate) const fn syscall_number(&self) -> i64 {
        self.notification.number
    }

    /// Returns an argument that is an `int`. The kernel uses only its lower half.
    pub(crate) fn int_argument(&self, at: usize) -> i32 {
        let word = self.notification.arguments.get(at).copied().unwrap_or_default();
        u32::try_from(word & 0xffff_ffff).unwrap_or_default().cast_signed()
    }

    /// Returns an argument.
    pub(crate) fn argument(&self, at: usize) -> u64 {
        self.notification.arguments.get(at).copied().unwrap_or_default()
    }

    /// Copies numbers out of the caller's memory. That memory is not read again.
    pub(crate) fn read_numbers<const N: usize>(&self, at: usize) -> Result<[i64; N], Errno> {
        let mut bytes = vec![0; N * size_of::<i64>()];
        sys::read_process_memory(self.notification.thread, self.argument(at), &mut bytes)
            .map_err(|error| to_errno(&error))?;
        self.check_pending()?;
        let (numbers, _) = bytes.as_chunks::<{ size_of::<i64>() }>();
        let mut all = [0; N];
        all.iter_mut().zip(numbers).for_each(|(one, bytes)| *one = i64::from_ne_bytes(*bytes));
        Ok(all)
    }

    /// Lets the call continue in the kernel. Only the kernel's own refusal may depend on this call:
    /// the caller's memory may have changed meanwhile.
    pub(crate) fn continue_syscall(&self) {
        drop(sys::continue_notification(self.listener, self.notification.id));
    }

    /// Lets the call return an open file.
    pub(crate) fn return_descriptor(&self, file: &OwnedFd, close_on_exec: bool) {
        let given = sys::return_descriptor(
            self.listener,
            self.notification.id,
            file.as_fd(),
            close_on_exec,
        );
        if let Err(error) = given {
            self.respond(Err(to_errno(&error)));
        }
    }

    /// Lets the call return. Does nothing if the caller was killed meanwhile.
    pub(crate) fn respond(&self, result: Result<(), Errno>) {
        let error = result.err().map_or(0, Errno::raw_os_error);
        drop(sys::respond_to_notification(self.listener, self.notification.id, error));
    }

    /// Copies the address out of the caller's memory. That memory is not read again.
    pub(crate) fn read_address(&self) -> Result<SocketAddress, Errno> {
        let [_, at, length, ..] = self.notification.arguments;
        // The kernel reads an `int`.
        let length = usize::try_from(length & 0xffff_ffff).map_err(|_| Errno::INVAL)?;
        if length > 128 {
            return Err(Errno::INVAL);
        }
        let mut bytes = vec![0; length.min(MAX_ADDRESS_LEN)];
        sys::read_process_memory(self.notification.thread, at, &mut bytes)
            .map_err(|error| to_errno(&error))?;
        self.check_pending()?;
        SocketAddress::parse(&bytes)
    }

    /// Adds a copy of an open file to the caller's descriptors, and returns its number there. The
    /// call is still pending.
    pub(crate) fn add_descriptor(&self, file: &OwnedFd, close_on_exec: bool) -> Result<i32, Errno> {
        let id = self.notification.id;
        sys::add_descriptor(self.listener, id, file.as_fd(), close_on_exec)
            .map_err(|error| to_errno(&error))
    }

    /// Writes two descriptor numbers to the address that an argument contains.
    pub(crate) fn write_descriptors(&self, at: usize, numbers: [i32; 2]) -> Result<(), Errno> {
        let address = self.notification.arguments.get(at).copied().unwrap_or_default();
        let bytes = numbers.map(i32::to_ne_bytes).concat();
        self.check_pending()?;
        sys::write_process_memory(self.notification.thread, address, &bytes)
            .map_err(|error| to_errno(&error))
    }

    /// Opens the file at the path that an argument points to, relative to this directory, only to
    /// identify it.
    pub(crate) fn open_at(
        &self,
        directory: i32,
        path: usize,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        self.open_relative(directory, &self.read_path(path)?, flags)
    }

    /// Opens the file at this path, relative to a directory of the caller, only to identify it.
    pub(crate) fn open_relative(
        &self,
        directory: i32,
        path: &Path,
        flags: OFlags,
    ) -> Result<OwnedFd, Errno> {
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT);
        }
        if path.is_absolute() {
            return self.open_in_root(path, flags);
        }
        self.open_in_root(&self.base_directory(directory)?.join(path), flags)
    }

    /// Duplicates the caller's descriptor that is the first argument.
    pub(crate) fn duplicate_descriptor(&self) -> Result<OwnedFd, Errno> {
        let [number, ..] = self.notification.arguments;
        let number = i32::try_from(number & 0xffff_ffff).map_err(|_| Errno::BADF)?;
        let process = self.open_pidfd()?;
        self.check_pending()?;
        pidfd_getfd(&process, number, PidfdGetfdFlags::empty())
    }

    /// Copies the path that an argument points to out of the caller's memory. That memory is not
    /// read again.
    pub(crate) fn read_path(&self, at: usize) -> Result<PathBuf, Errno> {
        let mut next = self.notification.arguments.get(at).copied().unwrap_or_default();
        let mut path = Vec::new();
        while path.len() < MAX_PATH_LEN {
            // The page after the end of a path may not be mapped.
            let left = PAGE_BYTES - usize::try_from(next).map_err(|_| Errno::FAULT)? % PAGE_BYTES;
            let mut bytes = vec![0; left.min(MAX_PATH_LEN - path.len())];
            sys::read_process_memory(self.notification.thread, next, &mut bytes)
                .map_err(|error| to_errno(&error))?;
            next = next.checked_add(bytes.len() as u64).ok_or(Errno::FAULT)?;
            let end = bytes.iter().position(|byte| *byte == 0);
            path.extend(bytes.iter().take(end.unwrap_or(bytes.len())));
            if end.is_some() {
                self.check_pending()?;
                return Ok(OsString::from_vec(path).into());
            }
        }
        Err(Errno::NAMETOOLONG)
    }

    /// Returns the directory that a relative path is resolved against, as the caller sees it: the
    /// working directory, or an open directory.
    pub(crate) fn base_directory(&self, directory: i32) -> Result<PathBuf, Errno> {
        let at = match directory {
            libc::AT_FDCWD => self.proc_path("cwd"),
            number => self.proc_path(&format!("fd/{number}")),
        };
        fs::read_link(at).map_err(|error| to_errno(&error))
    }

    /// Opens the file that the caller refers to with this path, only to identify it (`O_PATH`).
    pub(crate) fn open_path(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        let path = self.base_directory(libc::AT_FDCWD)?.join(Path::new(OsStr::from_bytes(path)));
        self.open_in_root(&path, OFlags::empty())
    }

    /// Opens the file at a path in the caller's root, only to identify it. The path cannot lead out
    /// of the caller's root.
    pub(crate) fn open_in_root(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let place = OFlags::PATH | OFlags::CLOEXEC;
        let root = open(self.proc_path("root"), place | OFlags::DIRECTORY, Mode::empty())?;
        self.check_pending()?;
        let inside = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
        openat2(&root, path, place | flags, Mode::empty(), inside)
    }

    /// Returns the caller's umask.
    pub(crate) fn umask(&self) -> Result<Mode, Errno> {
        let status = self.read_status()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        let mask = mask.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok());
        self.check_pending()?;
        mask.map(Mode::from_raw_mode).ok_or(Errno::SRCH)
    }

    /// Returns the mounts that the caller sees (proc_pid_mountinfo(5)).
    pub(crate) fn read_mounts(&self) -> io::Result<String> {
        fs::read_to_string(self.proc_path("mountinfo"))
    }

    fn open_pidfd(&self) -> Result<OwnedFd, Errno> {
        let pid =
            |number: u32| i32::try_from(number).ok().and_then(Pid::from_raw).ok_or(Errno::SRCH);
        match pidfd_open(pid(self.notification.thread)?, PIDFD_THREAD) {
            Err(Errno::INVAL) => {
                let status = self.read_status()?;
                let group = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
                let group = group.and_then(|group| group.trim().parse().ok()).ok_or(Errno::SRCH)?;
                pidfd_open(pid(group)?, PidfdFlags::empty())
            }
            process => process,
        }
    }

    fn read_status(&self) -> Result<String, Errno> {
        fs::read_to_string(self.proc_path("status")).map_err(|error| to_errno(&error))
    }

    /// Checks that the call is still pending. Only then did the files that were opened through the
    /// thread ID belong to the caller.
    pub(crate) fn check_pending(&self) -> Result<(), Errno> {
        sys::is_notification_valid(self.listener, self.notification.id)
            .then_some(())
            .ok_or(Errno::SRCH)
    }

    fn proc_path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/{name}", self.notification.thread))
    }
}

/// Returns a path that refers to exactly this open file.
pub(crate) fn descriptor_path(file: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

fn to_errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
