//! Publishing ports before and while the program runs.

use std::{
    io, mem,
    os::fd::OwnedFd,
    sync::{Mutex, PoisonError},
};

use crate::network::{InnerSockets, PortForwarder, PublishedListener};

/// The forwarder of one run. It starts when the first port is published.
pub(crate) struct PortPublisher(Mutex<PublisherState>);

enum PublisherState {
    /// No port is published.
    Idle(Box<dyn InnerSockets>),
    Forwarding(PortForwarder),
    /// The run has ended, or the forwarder could not be started.
    Closed,
}

impl PortPublisher {
    pub(crate) fn new(inner: impl InnerSockets + 'static) -> Self {
        Self(Mutex::new(PublisherState::Idle(Box::new(inner))))
    }

    /// Forwards connections from these listeners until the run ends.
    ///
    /// # Errors
    /// Returns an error if there are no descriptors or threads left, or if the run has ended.
    pub(crate) fn publish(&self, listeners: Vec<PublishedListener>) -> io::Result<()> {
        if listeners.is_empty() {
            return Ok(());
        }
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match mem::replace(&mut *state, PublisherState::Closed) {
            PublisherState::Idle(inner) => {
                *state = PublisherState::Forwarding(PortForwarder::start(listeners, inner)?);
                Ok(())
            }
            PublisherState::Forwarding(forwarder) => {
                forwarder.add(listeners);
                *state = PublisherState::Forwarding(forwarder);
                Ok(())
            }
            PublisherState::Closed => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// Delivers the sockets that the forwarder requested.
    pub(crate) fn deliver(&self, sockets: Vec<OwnedFd>) {
        let state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let PublisherState::Forwarding(forwarder) = &*state {
            forwarder.deliver(sockets);
        }
    }

    /// Closes all ports, and waits until what programs have sent is forwarded.
    pub(crate) fn close(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let ended = mem::replace(&mut *state, PublisherState::Closed);
        drop(state);
        drop(ended);
    }
}
