//! Pairs of connected sockets that carry datagrams (socketpair(2)).
//!
//! The kernel sends a datagram to any address that the sender names, also from a connected socket.
//! A service of the host could be reached with it, and the filter cannot see the address. So a
//! program gets a pair of sockets of the type `SOCK_SEQPACKET` instead, which also keeps the
//! boundaries of messages. The kernel ignores addresses there.

use std::{
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::Duration,
};

use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    io::Errno,
};

use crate::{
    ipc::{InitMessage, MessageSocket},
    seccomp::PendingSyscall,
};

/// The time that the first process has to create a pair.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The indexes of the arguments of socketpair(2).
const KIND: usize = 1;
const PROTOCOL: usize = 2;
const PAIR: usize = 3;

/// A source of pairs, which the first process inside creates. A socket belongs to the network
/// namespace of the process that creates it.
pub(crate) struct SocketPairs {
    socket: Arc<MessageSocket>,
    pairs: Mutex<mpsc::Receiver<Vec<OwnedFd>>>,
}

impl SocketPairs {
    /// Creates a source, and the sender for the pairs that the first process answers with.
    pub(super) fn new(socket: Arc<MessageSocket>) -> (Self, mpsc::Sender<Vec<OwnedFd>>) {
        let (sender, pairs) = mpsc::channel();
        (Self { socket, pairs: Mutex::new(pairs) }, sender)
    }

    /// Answers a call of socketpair(2) for datagrams.
    pub(super) fn answer(&self, call: &PendingSyscall<'_>) {
        call.respond(self.create(call));
    }

    fn create(&self, call: &PendingSyscall<'_>) -> Result<(), Errno> {
        let (blocking, close_on_exec) = parse_flags(call.int_argument(KIND))?;
        if !matches!(call.int_argument(PROTOCOL), 0 | libc::PF_UNIX) {
            return Err(Errno::PROTONOSUPPORT);
        }
        // The numbers are written at the end. An invalid address is an error before that.
        call.write_descriptors(PAIR, [-1, -1])?;
        let pair = self.request_pair().map_err(|_| Errno::NFILE)?;
        let [first, second] = <[OwnedFd; 2]>::try_from(pair).map_err(|_| Errno::NFILE)?;
        for socket in [&first, &second].into_iter().filter(|_| !blocking) {
            fcntl_setfl(socket, fcntl_getfl(socket)? | OFlags::NONBLOCK)?;
        }
        let numbers = [
            call.add_descriptor(&first, close_on_exec)?,
            call.add_descriptor(&second, close_on_exec)?,
        ];
        call.write_descriptors(PAIR, numbers)
    }

    /// Requests a pair from the first process. A late answer to an earlier request is as good.
    fn request_pair(&self) -> io::Result<Vec<OwnedFd>> {
        let pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        self.socket.send(&InitMessage::CreateSocketPair, &[])?;
        pairs.recv_timeout(TIMEOUT).map_err(io::Error::other)
    }
}

/// Returns whether the sockets block, and whether they are closed on exec.
fn parse_flags(kind: i32) -> Result<(bool, bool), Errno> {
    let flags = kind & !libc::SOCK_DGRAM;
    if flags & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) != 0 {
        return Err(Errno::INVAL);
    }
    Ok((flags & libc::SOCK_NONBLOCK == 0, flags & libc::SOCK_CLOEXEC != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_those_of_socketpair() {
        let read = |flags: i32| parse_flags(libc::SOCK_DGRAM | flags);
        assert_eq!(read(0), Ok((true, false)));
        assert_eq!(read(libc::SOCK_NONBLOCK), Ok((false, false)));
        assert_eq!(read(libc::SOCK_CLOEXEC), Ok((true, true)));
        assert_eq!(read(0x100), Err(Errno::INVAL));
    }
}
