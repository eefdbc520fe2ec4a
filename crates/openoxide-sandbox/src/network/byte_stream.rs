//! One direction of a forwarded connection.

use std::os::fd::OwnedFd;

use rustix::{
    io::{Errno, retry_on_intr},
    net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown},
};

/// The maximum number of bytes that were received and not sent yet.
const BUFFER_BYTES: usize = 32 * 1024;
/// The maximum number of buffers that are forwarded before other connections have their turn.
const MAX_BUFFERS_PER_TURN: usize = 8;

/// The bytes from one socket to another. Both sockets are non-blocking.
///
/// Nothing is received before everything has been sent, so a slow reader slows down the writer.
#[derive(Debug, Default)]
pub(super) struct ByteStream {
    buffer: Vec<u8>,
    sent: usize,
    has_ended: bool,
    is_finished: bool,
}

impl ByteStream {
    /// Returns whether the stream waits for data to receive.
    pub(super) const fn wants_input(&self) -> bool {
        !self.has_ended && self.sent == self.buffer.len()
    }

    /// Returns whether the stream waits until data can be sent.
    pub(super) const fn wants_output(&self) -> bool {
        self.sent < self.buffer.len()
    }

    /// Returns whether the end of the stream has been forwarded.
    pub(super) const fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Forwards what is available now, and the end of the stream.
    ///
    /// # Errors
    /// Returns the error of a socket. The connection is broken then.
    pub(super) fn forward(&mut self, from: &OwnedFd, to: &OwnedFd) -> Result<(), Errno> {
        for _ in 0..MAX_BUFFERS_PER_TURN {
            if self.is_finished || self.wants_input() && !self.receive(from)? {
                return Ok(());
            }
            if self.wants_output() && !self.send(to)? {
                return Ok(());
            }
            if self.has_ended && !self.wants_output() {
                self.is_finished = true;
                shutdown(to, Shutdown::Write)?;
            }
        }
        Ok(())
    }

    /// Receives data, or the end of the stream. Returns false if there is none yet.
    fn receive(&mut self, from: &OwnedFd) -> Result<bool, Errno> {
        self.sent = 0;
        self.buffer.resize(BUFFER_BYTES, 0);
        let received = retry_on_intr(|| recv(from, self.buffer.as_mut_slice(), RecvFlags::empty()));
        let length = received.as_ref().map_or(0, |(length, _)| *length);
        self.buffer.truncate(length);
        match received {
            Err(Errno::AGAIN) => {
                self.buffer = Vec::new();
                Ok(false)
            }
            Err(error) => Err(error),
            Ok(_) => {
                self.has_ended = length == 0;
                Ok(true)
            }
        }
    }

    /// Sends data. Returns false if none can be sent now.
    fn send(&mut self, to: &OwnedFd) -> Result<bool, Errno> {
        let rest = self.buffer.get(self.sent..).unwrap_or_default();
        match retry_on_intr(|| send(to, rest, SendFlags::NOSIGNAL)) {
            Err(Errno::AGAIN) => Ok(false),
            Err(error) => Err(error),
            Ok(length) => {
                self.sent += length;
                Ok(true)
            }
        }
    }
}
