//! Installation of a seccomp filter on this process: seccomp(2).

use std::{
    io,
    os::fd::{FromRawFd as _, OwnedFd},
};

use crate::sys::bpf::{BpfInstruction, SeccompFilter};

/// Installs the filter permanently on this thread and everything that it starts. If `listen` is
/// set, returns the descriptor for the seccomp notifications.
///
/// # Errors
/// Returns `EBUSY` if there is a listener already. Otherwise returns the error of the kernel.
pub(crate) fn install_filter(filter: &SeccompFilter, listen: bool) -> io::Result<Option<OwnedFd>> {
    let instructions: Vec<_> = filter.instructions().iter().copied().map(to_sock_filter).collect();
    let program = libc::sock_fprog {
        len: u16::try_from(instructions.len()).map_err(io::Error::other)?,
        filter: instructions.as_ptr().cast_mut(),
    };
    let flags = if listen { LISTEN } else { 0 };
    // SAFETY: `program` points to `len` instructions that outlive the call, and the kernel only
    // reads them.
    let result = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program)
    };
    match i32::try_from(result) {
        // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
        Ok(fd) if fd >= 0 && listen => Ok(Some(unsafe { OwnedFd::from_raw_fd(fd) })),
        Ok(0) => Ok(None),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A fatal signal still kills a process whose call is pending. Any other signal waits until the
/// call is answered.
const LISTEN: libc::c_ulong =
    libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

const fn to_sock_filter(of: BpfInstruction) -> libc::sock_filter {
    libc::sock_filter { code: of.code, jt: of.if_true, jf: of.if_false, k: of.operand }
}
