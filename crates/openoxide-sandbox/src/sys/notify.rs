//! Seccomp notifications: seccomp_unotify(2).

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd as _, BorrowedFd},
};

/// A system call that is suspended until it is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SeccompNotification {
    /// The ID that the kernel assigned to it.
    pub(crate) id: u64,
    /// The ID of the calling thread, as seen by this process.
    pub(crate) thread: u32,
    /// The number of the call (`SYS_…`).
    pub(crate) number: i64,
    /// Its arguments, as they were in the registers.
    pub(crate) arguments: [u64; 6],
}

/// Waits for the next call.
///
/// # Errors
/// Returns `ENOENT` if the caller was killed meanwhile, and `EINTR` if a signal interrupted the
/// call. Otherwise returns the error of the kernel.
pub(crate) fn receive_notification(listener: BorrowedFd<'_>) -> io::Result<SeccompNotification> {
    // SAFETY: the structure consists of plain numbers, and the kernel requires it to be zero.
    let mut call: libc::seccomp_notif = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the request writes one such structure, which outlives the call.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
    let (number, arguments) = (call.data.nr.into(), call.data.args);
    let held = SeccompNotification { id: call.id, thread: call.pid, number, arguments };
    if result == 0 { Ok(held) } else { Err(io::Error::last_os_error()) }
}

/// Makes the kernel switch directly between the program and this process at each call, on the same
/// processor (Linux 6.6). Without it, each switch wakes another processor.
///
/// # Errors
/// `EINVAL` or `ENOTTY` if the kernel is older. Calls are answered more slowly then.
pub(crate) fn switch_directly(listener: BorrowedFd<'_>) -> io::Result<()> {
    const SYNC_WAKE_UP: libc::c_ulong = 1; // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
    // SAFETY: the argument of the request is a number. It accesses no memory.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS, SYNC_WAKE_UP)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Returns whether a call is still pending. Only then did data that was read from its process
/// before belong to it.
pub(crate) fn is_notification_valid(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the request reads one number, which outlives the call.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
    };
    result == 0
}

/// Lets a call return 0 or an error number.
///
/// # Errors
/// `ENOENT` if the call is not pending any more.
pub(crate) fn respond_to_notification(
    listener: BorrowedFd<'_>,
    id: u64,
    error: i32,
) -> io::Result<()> {
    // The kernel expects negative error numbers here. Without flags, the call itself is never made.
    send_response(listener, libc::seccomp_notif_resp { id, val: 0, error: -error, flags: 0 })
}

/// Lets a call continue, with the current contents of the caller's memory. The kernel checks it as
/// if there had been no notification.
///
/// # Errors
/// `ENOENT` if the call is not pending any more.
pub(crate) fn continue_notification(listener: BorrowedFd<'_>, id: u64) -> io::Result<()> {
    let flags = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).map_err(io::Error::other)?;
    send_response(listener, libc::seccomp_notif_resp { id, val: 0, error: 0, flags })
}

/// Lets a call return a copy of an open file, as the caller's lowest free descriptor.
///
/// # Errors
/// `ENOENT` if the call is not pending any more; `EMFILE` if the caller has no free descriptor. The
/// call must still be answered then.
pub(crate) fn return_descriptor(
    listener: BorrowedFd<'_>,
    id: u64,
    file: BorrowedFd<'_>,
    close_on_exec: bool,
) -> io::Result<()> {
    let flags = u32::try_from(libc::SECCOMP_ADDFD_FLAG_SEND).map_err(io::Error::other)?;
    inject_descriptor(listener, id, file, (close_on_exec, flags)).map(drop)
}

/// Adds a copy of an open file to the caller's descriptors, and returns its number there. The call
/// must still be answered.
///
/// # Errors
/// As [`return_descriptor`].
pub(crate) fn add_descriptor(
    listener: BorrowedFd<'_>,
    id: u64,
    file: BorrowedFd<'_>,
    close_on_exec: bool,
) -> io::Result<i32> {
    inject_descriptor(listener, id, file, (close_on_exec, 0))
}

fn inject_descriptor(
    listener: BorrowedFd<'_>,
    id: u64,
    file: BorrowedFd<'_>,
    (close_on_exec, flags): (bool, u32),
) -> io::Result<i32> {
    let srcfd = file.as_raw_fd().cast_unsigned();
    let newfd_flags = if close_on_exec { libc::O_CLOEXEC.cast_unsigned() } else { 0 };
    let added = libc::seccomp_notif_addfd { id, flags, srcfd, newfd: 0, newfd_flags };
    // SAFETY: the request reads one such structure, which outlives the call, and copies an open descriptor.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ADDFD, &raw const added)
    };
    if result >= 0 { Ok(result) } else { Err(io::Error::last_os_error()) }
}

fn send_response(listener: BorrowedFd<'_>, mut answer: libc::seccomp_notif_resp) -> io::Result<()> {
    // SAFETY: the request reads one such structure, which outlives the call.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Copies memory of the process that a thread belongs to. A process that closed itself to others
/// (prctl(2), `PR_SET_DUMPABLE`) hides its memory in /proc from all users except root. This call
/// requires only rights over the process.
///
/// # Errors
/// The error of the kernel; `EFAULT` if less memory could be read.
pub(crate) fn read_process_memory(thread: u32, at: u64, to: &mut [u8]) -> io::Result<()> {
    let length = to.len();
    let ours = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: length };
    let base = usize::try_from(at).map_err(io::Error::other)? as *mut libc::c_void;
    let theirs = libc::iovec { iov_base: base, iov_len: length };
    let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
    // SAFETY: `ours` describes `length` bytes that may be written. `theirs` is an address of the
    // other process, which the kernel checks.
    let read =
        unsafe { libc::process_vm_readv(thread, &raw const ours, 1, &raw const theirs, 1, 0) };
    match usize::try_from(read) {
        Ok(read) if read == length => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Copies data into the memory of the process that a thread belongs to, where that process may
/// write.
///
/// # Errors
/// The error of the kernel; `EFAULT` if less memory could be written.
pub(crate) fn write_process_memory(thread: u32, at: u64, from: &[u8]) -> io::Result<()> {
    let length = from.len();
    let ours = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: length };
    let base = usize::try_from(at).map_err(io::Error::other)? as *mut libc::c_void;
    let theirs = libc::iovec { iov_base: base, iov_len: length };
    let thread = libc::pid_t::try_from(thread).map_err(io::Error::other)?;
    // SAFETY: `ours` describes `length` bytes, which the call only reads. `theirs` is an address of
    // the other process, which the kernel checks.
    let written =
        unsafe { libc::process_vm_writev(thread, &raw const ours, 1, &raw const theirs, 1, 0) };
    match usize::try_from(written) {
        Ok(written) if written == length => Ok(()),
        Ok(_) => Err(io::Error::from_raw_os_error(libc::EFAULT)),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

/// Returns the cookie of the network namespace that a socket belongs to (socket(7),
/// `SO_NETNS_COOKIE`).
///
/// # Errors
/// Returns an error if the descriptor is not a socket, or if the kernel is older than 5.14.
pub(crate) fn network_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut cookie = 0_u64;
    let mut length = libc::socklen_t::try_from(size_of::<u64>()).map_err(io::Error::other)?;
    // SAFETY: the option writes one number of `length` bytes, which outlives the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
}
