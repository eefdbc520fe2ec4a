//! The process at the other end of a socket.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd},
};

/// Returns a descriptor of the process that created the pair of sockets or connected to this one,
/// as pidfd_open(2) does. A later process with the same ID is another one. Returns `None` if the
/// kernel cannot tell (before Linux 6.5).
///
/// # Errors
///
/// If this is not a Unix socket, or the process has ended and the kernel reports no descriptor of
/// it.
pub fn open_socket_peer(socket: impl AsFd) -> io::Result<Option<OwnedFd>> {
    let mut descriptor: RawFd = -1;
    let size = size_of::<RawFd>();
    let mut length = libc::socklen_t::try_from(size).map_err(io::Error::other)?;
    // SAFETY: the kernel writes at most `length` bytes to `descriptor`, which has that size, and
    // both variables outlive the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERPIDFD,
            (&raw mut descriptor).cast(),
            &raw mut length,
        )
    };
    if result != 0 {
        let error = io::Error::last_os_error();
        let is_unknown = error.raw_os_error() == Some(libc::ENOPROTOOPT);
        return if is_unknown { Ok(None) } else { Err(error) };
    }
    // SAFETY: the call succeeded, so this is a new descriptor that nothing else owns.
    Ok(Some(unsafe { OwnedFd::from_raw_fd(descriptor) }))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::net::UnixStream, process};

    use super::*;

    #[test]
    fn the_peer_of_a_pair_is_the_process_that_created_it() {
        let (one, _other) = UnixStream::pair().unwrap();
        let Some(peer) = open_socket_peer(&one).unwrap() else { return };
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", peer.as_raw_fd())).unwrap();
        let id = info.lines().find_map(|line| line.strip_prefix("Pid:")).unwrap();
        assert_eq!(id.trim(), process::id().to_string());
        assert!(open_socket_peer(fs::File::open("/dev/null").unwrap()).is_err());
    }
}
