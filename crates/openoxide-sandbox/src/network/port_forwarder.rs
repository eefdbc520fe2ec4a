//! Forwarding of connections from published ports of the host to programs inside.
//!
//! Sockets of the sandbox's network are created by the first process inside. The supervisor
//! connects them itself, so no program inside chooses where a connection leads.

use std::{
    collections::VecDeque,
    io,
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};

use crate::network::{
    forwarded_connection::ForwardedConnection, published_listeners::PublishedListener,
};

/// The maximum number of connections at the same time. Further ones wait until they are accepted.
const MAX_CONNECTIONS: usize = 256;
/// The time that connections have to end after the program has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);
/// The time until connections are accepted again after that failed.
const RETRY_INTERVAL: Duration = Duration::from_millis(50);

/// The connection of the forwarder to the sandbox.
pub(crate) trait InnerSockets: Send {
    /// Requests sockets of the sandbox's network. They are passed to [`PortForwarder::deliver`].
    fn request(&self) -> io::Result<()>;

    /// Returns whether connections to a port inside may be forwarded: not if the supervisor itself
    /// listens there.
    fn is_forwardable(&self, port: u16) -> bool;
}

/// A thread that forwards all connections to published ports of one run.
#[derive(Debug)]
pub(crate) struct PortForwarder {
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
}

/// What other threads pass to the forwarder.
#[derive(Debug)]
struct Mailbox {
    wake_event: OwnedFd,
    content: Mutex<MailboxContent>,
}

#[derive(Debug, Default)]
struct MailboxContent {
    listeners: Vec<PublishedListener>,
    /// The sockets for each request, in order.
    sockets: VecDeque<Vec<OwnedFd>>,
    stopped: bool,
}

impl PortForwarder {
    /// Starts forwarding connections from these listeners.
    ///
    /// # Errors
    /// Returns an error if there are no descriptors or threads left.
    pub(crate) fn start(
        listeners: Vec<PublishedListener>,
        inner: Box<dyn InnerSockets>,
    ) -> io::Result<Self> {
        let wake_event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let content = Mutex::new(MailboxContent { listeners, ..MailboxContent::default() });
        let mailbox = Arc::new(Mailbox { wake_event, content });
        let forwarding = Forwarding {
            mailbox: Arc::clone(&mailbox),
            inner,
            listeners: Vec::new(),
            connections: Vec::new(),
            accept_after: None,
            stop_at: None,
        };
        let thread = Some(thread::Builder::new().spawn(move || forwarding.run())?);
        Ok(Self { mailbox, thread })
    }

    /// Forwards connections from further listeners.
    pub(crate) fn add(&self, listeners: Vec<PublishedListener>) {
        self.mailbox.update(|content| content.listeners.extend(listeners));
    }

    /// Delivers the sockets that were requested. The list is empty if none could be created.
    pub(crate) fn deliver(&self, sockets: Vec<OwnedFd>) {
        self.mailbox.update(|content| content.sockets.push_back(sockets));
    }
}

impl Drop for PortForwarder {
    /// Closes the listeners, and waits until everything that programs inside have sent is
    /// forwarded, but not for long.
    fn drop(&mut self) {
        self.mailbox.update(|content| content.stopped = true);
        drop(self.thread.take().map(JoinHandle::join));
    }
}

impl Mailbox {
    fn update(&self, change: impl FnOnce(&mut MailboxContent)) {
        change(&mut self.lock());
        let _ = rustix::io::write(&self.wake_event, &1_u64.to_ne_bytes());
    }

    fn lock(&self) -> MutexGuard<'_, MailboxContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of the thread.
struct Forwarding {
    mailbox: Arc<Mailbox>,
    inner: Box<dyn InnerSockets>,
    listeners: Vec<PublishedListener>,
    connections: Vec<ForwardedConnection>,
    /// The time until which no connection is accepted.
    accept_after: Option<Instant>,
    /// The time at which forwarding stops.
    stop_at: Option<Instant>,
}

impl Forwarding {
    fn run(mut self) {
        while self.take_mail() {
            let (ready, is_accepting) = self.wait();
            let mut ready = ready.into_iter();
            for connection in &mut self.connections {
                let count = connection.poll_targets().len();
                if ready.by_ref().take(count).filter(|ready| *ready).count() > 0 {
                    connection.process_events();
                }
            }
            let now = Instant::now();
            for connection in &mut self.connections {
                if connection.deadline().is_some_and(|deadline| deadline <= now) {
                    connection.reset();
                }
            }
            self.connections.retain(|connection| !connection.is_closed());
            if is_accepting {
                self.accept();
            }
        }
        self.connections.iter_mut().for_each(ForwardedConnection::reset_unless_forwarded);
    }

    /// Takes over what other threads have passed. Returns false if the forwarder has stopped.
    fn take_mail(&mut self) -> bool {
        let content = std::mem::take(&mut *self.mailbox.lock());
        self.listeners.extend(content.listeners);
        for sockets in content.sockets {
            let waiting = self.connections.iter_mut().find(|one| one.is_waiting_for_socket());
            match waiting {
                Some(one) if self.inner.is_forwardable(one.port()) => one.connect_with(sockets),
                Some(one) => one.reset(),
                None => {}
            }
        }
        if content.stopped {
            self.listeners.clear();
            self.stop_at = Some(Instant::now() + DRAIN_TIMEOUT);
        }
        let is_drained = || self.connections.iter().all(ForwardedConnection::has_forwarded_output);
        !self.stop_at.is_some_and(|at| at <= Instant::now() || is_drained())
    }

    /// Waits for events. Returns for each polled descriptor of a connection whether it is ready,
    /// and whether a listener is.
    fn wait(&mut self) -> (Vec<bool>, bool) {
        let is_retry = self.accept_after.take_if(|at| *at <= Instant::now()).is_some();
        let mut polled = vec![PollFd::new(&self.mailbox.wake_event, PollFlags::IN)];
        let targets = self.connections.iter().flat_map(ForwardedConnection::poll_targets);
        polled.extend(targets.map(|(descriptor, events)| PollFd::new(descriptor, events)));
        let count = polled.len();
        if self.connections.len() < MAX_CONNECTIONS && self.accept_after.is_none() {
            let listeners = self.listeners.iter().flat_map(|published| &published.listeners);
            polled.extend(listeners.map(|listener| PollFd::new(listener, PollFlags::IN)));
        }
        let _ = poll(&mut polled, self.timeout().as_ref());
        let ready: Vec<_> = polled.iter().map(|one| !one.revents().is_empty()).collect();
        let mut rung = [0; 8];
        let _ = rustix::io::read(&self.mailbox.wake_event, &mut rung);
        let (connections, listeners) = ready.split_at_checked(count).unwrap_or_default();
        let is_accepting = is_retry || listeners.contains(&true);
        (connections.iter().skip(1).copied().collect(), is_accepting)
    }

    /// Returns the time until something happens without an event.
    fn timeout(&self) -> Option<Timespec> {
        let deadlines = self.connections.iter().filter_map(ForwardedConnection::deadline);
        let next = deadlines.chain(self.accept_after).chain(self.stop_at).min()?;
        Timespec::try_from(next.saturating_duration_since(Instant::now())).ok()
    }

    /// Accepts connections as long as there are some and more are permitted.
    fn accept(&mut self) {
        for published in &self.listeners {
            for listener in &published.listeners {
                while self.connections.len() < MAX_CONNECTIONS {
                    match listener.accept() {
                        Ok((client, _)) => {
                            let is_set_up = client.set_nonblocking(true).is_ok();
                            let port = published.port.port();
                            let mut connection = ForwardedConnection::new(client, port);
                            if is_set_up && self.inner.request().is_ok() {
                                self.connections.push(connection);
                            } else {
                                connection.reset();
                            }
                        }
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        // There are no descriptors left: existing connections must end first.
                        Err(_) => {
                            self.accept_after = Some(Instant::now() + RETRY_INTERVAL);
                            return;
                        }
                    }
                }
            }
        }
    }
}
