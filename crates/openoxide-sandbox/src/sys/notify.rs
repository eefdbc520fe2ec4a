//! Calls that a filter hands over: seccomp_unotify(2).

use std::{
    io,
    mem::MaybeUninit,
    os::fd::{AsRawFd as _, BorrowedFd},
};

/// A call that is held until it is answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// What the kernel calls it.
    pub(crate) id: u64,
    /// The thread that made it, as this process sees it.
    pub(crate) thread: u32,
    /// Its arguments, as registers held them.
    pub(crate) arguments: [u64; 6],
}

/// Waits for the next call.
///
/// # Errors
/// `ENOENT`, where the caller was killed meanwhile, and `EINTR`; otherwise what the kernel says.
pub(crate) fn next_held(listener: BorrowedFd<'_>) -> io::Result<Held> {
    // SAFETY: the structure is plain numbers, and the kernel wants it to be zero.
    let mut call: libc::seccomp_notif = unsafe { MaybeUninit::zeroed().assume_init() };
    // SAFETY: the request writes one such structure, which outlives the call.
    let result =
        unsafe { libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_RECV, &raw mut call) };
    let held = Held { id: call.id, thread: call.pid, arguments: call.data.args };
    if result == 0 { Ok(held) } else { Err(io::Error::last_os_error()) }
}

/// Says whether a call is still held. What was read of its process before belongs to it only then.
pub(crate) fn is_held(listener: BorrowedFd<'_>, id: u64) -> bool {
    // SAFETY: the request reads one number, which outlives the call.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_ID_VALID, &raw const id)
    };
    result == 0
}

/// Lets a call return: 0, or the number of an error.
///
/// # Errors
/// `ENOENT`, where nobody waits for it any more.
pub(crate) fn answer_held(listener: BorrowedFd<'_>, id: u64, error: i32) -> io::Result<()> {
    // The kernel counts errors downwards here. No flags: the call itself is never made.
    let mut answer = libc::seccomp_notif_resp { id, val: 0, error: -error, flags: 0 };
    // SAFETY: the request reads one such structure, which outlives the call.
    let result = unsafe {
        libc::ioctl(listener.as_raw_fd(), libc::SECCOMP_IOCTL_NOTIF_SEND, &raw mut answer)
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
