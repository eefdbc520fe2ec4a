//! Accepting from many listeners at once, and from those that come later.

use std::{
    io,
    net::{TcpListener, TcpStream},
    os::fd::OwnedFd,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

/// Listeners, and a bell that says that there are more of them, or that it is over.
pub(super) struct Listening {
    bell: OwnedFd,
    new: Mutex<New>,
}

#[derive(Default)]
struct New {
    listeners: Vec<TcpListener>,
    over: bool,
}

impl Listening {
    pub(super) fn new() -> io::Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Self { bell, new: Mutex::default() })
    }

    /// Adds a listener.
    pub(super) fn add(&self, listener: TcpListener) {
        self.change(|new| new.listeners.push(listener));
    }

    /// Ends [`Self::accept`].
    pub(super) fn end(&self) {
        self.change(|new| new.over = true);
    }

    fn change(&self, change: impl FnOnce(&mut New)) {
        change(&mut self.new.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }

    /// Hands each connection on, until it is over.
    pub(super) fn accept(&self, mut to: impl FnMut(TcpStream)) {
        let mut all = Vec::new();
        while self.take_new(&mut all) {
            let ready = self.wait(&all);
            for listener in all.iter().zip(ready).filter_map(|(one, ready)| ready.then_some(one)) {
                match listener.accept() {
                    Ok((stream, _)) => to(stream),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    // No descriptors or no memory: what is there has to end first.
                    Err(_) => thread::sleep(Duration::from_millis(20)),
                }
            }
        }
    }

    /// Takes the new listeners. False: it is over.
    fn take_new(&self, all: &mut Vec<TcpListener>) -> bool {
        let mut new = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        for listener in new.listeners.drain(..) {
            if listener.set_nonblocking(true).is_ok() {
                all.push(listener);
            }
        }
        !new.over
    }

    /// Waits until a listener has a connection or the bell rings, and says of each listener whether it has one.
    fn wait(&self, all: &[TcpListener]) -> Vec<bool> {
        let bell = PollFd::new(&self.bell, PollFlags::IN);
        let mut polled = vec![bell];
        polled.extend(all.iter().map(|listener| PollFd::new(listener, PollFlags::IN)));
        let _ = poll(&mut polled, None);
        let mut rung = [0; 8];
        let _ = rustix::io::read(&self.bell, &mut rung);
        polled.iter().skip(1).map(|one| one.revents().intersects(PollFlags::IN)).collect()
    }
}
