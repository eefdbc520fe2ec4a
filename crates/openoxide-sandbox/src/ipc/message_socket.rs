//! Messages between related processes, over a socket pair.
//!
//! The socket also reports the end of a process: if one end closes, the process at the other end
//! exits.

use std::{
    io::{self, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd as _, OwnedFd},
};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, Shutdown, SocketFlags, SocketType, recvmsg, sendmsg, shutdown,
    socketpair,
};
use serde::{Serialize, de::DeserializeOwned};

/// One end of the socket pair.
#[derive(Debug)]
pub(crate) struct MessageSocket(OwnedFd);

/// The maximum size of a message, and the maximum number of descriptors that are sent with it.
const MAX_MESSAGE_BYTES: usize = 4096;
const MAX_DESCRIPTORS: usize = 64;

impl From<OwnedFd> for MessageSocket {
    fn from(end: OwnedFd) -> Self {
        Self(end)
    }
}

impl MessageSocket {
    /// Creates both ends.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (a, b) =
            socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
        Ok((Self(a), Self(b)))
    }

    /// Returns the descriptor to poll.
    pub(crate) const fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    /// Closes the connection, even if other descriptors refer to this end. Both ends then receive
    /// `None`.
    pub(crate) fn close(&self) {
        // If the other end is closed, there is nothing to do.
        _ = shutdown(&self.0, Shutdown::Both);
    }

    /// Sends a message with these descriptors.
    pub(crate) fn send<M: Serialize>(
        &self,
        message: &M,
        descriptors: &[OwnedFd],
    ) -> io::Result<()> {
        let bytes = serde_json::to_vec(message)?;
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(io::Error::other("too long"));
        }
        let borrowed: Vec<_> = descriptors.iter().map(|fd| fd.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut beside = SendAncillaryBuffer::new(&mut space);
        if !borrowed.is_empty() && !beside.push(SendAncillaryMessage::ScmRights(&borrowed)) {
            return Err(io::Error::other("too many descriptors"));
        }
        sendmsg(&self.0, &[IoSlice::new(&bytes)], &mut beside, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// Waits for the next message. Returns `None` if the other end is closed.
    pub(crate) fn receive<M: DeserializeOwned>(&self) -> io::Result<Option<(M, Vec<OwnedFd>)>> {
        let mut bytes = [0; MAX_MESSAGE_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_DESCRIPTORS))];
        let mut beside = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC;
        let got = rustix::io::retry_on_intr(|| {
            recvmsg(&self.0, &mut [IoSliceMut::new(&mut bytes)], &mut beside, flags)
        })?;
        let mut descriptors = Vec::new();
        for one in beside.drain() {
            if let RecvAncillaryMessage::ScmRights(fds) = one {
                descriptors.extend(fds);
            }
        }
        match bytes.get(..got.bytes) {
            None | Some([]) => Ok(None),
            Some(text) => Ok(Some((serde_json::from_slice(text)?, descriptors))),
        }
    }
}
