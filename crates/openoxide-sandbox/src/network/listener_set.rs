//! Accepting connections from many listeners at once, including listeners that are added later.

use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream},
    os::fd::OwnedFd,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

/// A listener, and the address that its connections are meant for, if that is not the listener's
/// own.
pub(super) struct BrokerListener {
    pub(super) listener: TcpListener,
    pub(super) target: Option<SocketAddr>,
}

/// Listeners, with an event that signals new listeners or the stop.
pub(super) struct ListenerSet {
    wake_event: OwnedFd,
    added: Mutex<NewListeners>,
}

#[derive(Default)]
struct NewListeners {
    listeners: Vec<BrokerListener>,
    stopped: bool,
}

impl ListenerSet {
    pub(super) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { wake_event: bell, added: Mutex::default() })
    }

    /// Adds a listener.
    pub(super) fn add(&self, listener: BrokerListener) {
        self.update(|new| new.listeners.push(listener));
    }

    /// Ends [`Self::accept`].
    pub(super) fn stop(&self) {
        self.update(|new| new.stopped = true);
    }

    fn update(&self, change: impl FnOnce(&mut NewListeners)) {
        change(&mut self.added.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = rustix::io::write(&self.wake_event, &1_u64.to_ne_bytes());
    }

    /// Passes each connection to `to`, with the address that it is meant for, until the set is
    /// stopped.
    pub(super) fn accept(&self, mut to: impl FnMut(TcpStream, Option<SocketAddr>)) {
        let mut all = Vec::new();
        while self.take_added(&mut all) {
            let ready = self.poll_listeners(&all);
            for listener in all.iter().zip(ready).filter_map(|(one, ready)| ready.then_some(one)) {
                match listener.listener.accept() {
                    Ok((stream, _)) => {
                        let own = stream.local_addr().ok();
                        to(stream, listener.target.or(own));
                    }
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // There are no descriptors or no memory left: existing connections must end
                    // first.
                    Err(_) => thread::sleep(Duration::from_millis(20)),
                }
            }
        }
    }

    /// Takes over the added listeners. Returns false if the set was stopped.
    fn take_added(&self, all: &mut Vec<BrokerListener>) -> bool {
        let mut new = self.added.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in new.listeners.drain(..) {
            if listener.listener.set_nonblocking(true).is_ok() {
                all.push(listener);
            }
        }
        !new.stopped
    }

    /// Waits until a listener has a connection or the event is signalled. Returns for each listener
    /// whether it has one.
    fn poll_listeners(&self, all: &[BrokerListener]) -> Vec<bool> {
        let bell = PollFd::new(&self.wake_event, PollFlags::IN);
        let mut polled = vec![bell];
        polled.extend(all.iter().map(|one| PollFd::new(&one.listener, PollFlags::IN)));
        let _ = poll(&mut polled, None);
        let mut rung = [0; 8];
        let _ = rustix::io::read(&self.wake_event, &mut rung);
        polled.iter().skip(1).map(|one| one.revents().intersects(PollFlags::IN)).collect()
    }
}
