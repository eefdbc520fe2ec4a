//! Programs that start to listen on a port: publishing the port, or asking whether to publish it.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use openoxide_protocol::PublishedPort;

use crate::{
    interface::{LaunchConfig, RuntimeRequest, describe_port_error},
    network::{ListeningPorts, PortPublisher, PublishedListener, SandboxSockets, listening_port},
    seccomp::PendingSyscall,
    supervisor::review_relay::ReviewClient,
};

/// The time that a program must listen before it is reported. Tests often listen for less.
const REPORT_DELAY: Duration = Duration::from_secs(1);
/// The stack of the thread that waits for the answer.
const STACK_BYTES: usize = 128 * 1024;

/// The handler of listen(2) of programs in a separate network.
pub(crate) struct ListenHandler {
    /// The ports that are published when a program listens on them.
    publishable: BTreeSet<PublishedPort>,
    publisher: Arc<PortPublisher>,
    sockets: Arc<SandboxSockets>,
    reviewer: Option<ReviewClient>,
    unpublished: ListeningPorts,
    ports: Mutex<HandledPorts>,
}

/// The ports about which nothing remains to be done.
#[derive(Default)]
struct HandledPorts {
    published: BTreeSet<u16>,
    /// The ports that are in use by other programs of the host, which was reported.
    unavailable: BTreeSet<u16>,
}

impl ListenHandler {
    pub(super) fn new(
        launch: &LaunchConfig,
        publisher: Arc<PortPublisher>,
        sockets: Arc<SandboxSockets>,
        reviewer: Option<ReviewClient>,
    ) -> Self {
        let published = launch.published_ports.iter().map(|published| published.port()).collect();
        Self {
            publishable: launch.published_on_listen.clone(),
            publisher,
            sockets,
            reviewer,
            unpublished: ListeningPorts::default(),
            ports: Mutex::new(HandledPorts { published, ..HandledPorts::default() }),
        }
    }

    /// Handles a call of listen(2). The call continues, whatever the result.
    pub(super) fn handle(self: &Arc<Self>, call: &PendingSyscall<'_>) {
        let Some(port) = listening_port(call) else { return };
        if self.is_published(port) {
            return;
        }
        let known = self.publishable.iter().find(|published| published.port() == port);
        match known {
            Some(published) => self.publish(*published),
            None if self.unpublished.record(port) => self.review_later(port),
            None => {}
        }
    }

    /// Returns the ports that are not published, in order.
    pub(super) fn unpublished_ports(&self) -> Vec<u16> {
        let ports = self.unpublished.ports();
        ports.into_iter().filter(|port| !self.is_published(*port)).collect()
    }

    fn is_published(&self, port: u16) -> bool {
        let ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.published.contains(&port)
    }

    /// Publishes a port. If that is not possible, this is reported once.
    fn publish(self: &Arc<Self>, port: PublishedPort) {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        if ports.published.contains(&port.port()) {
            return;
        }
        let listening = PublishedListener::bind(port);
        match listening.and_then(|listener| self.publisher.publish(vec![listener])) {
            Ok(()) => {
                ports.published.insert(port.port());
            }
            Err(error) if ports.unavailable.insert(port.port()) => {
                drop(ports);
                self.report_unavailable(port, &error);
            }
            Err(_) => {}
        }
    }

    fn report_unavailable(self: &Arc<Self>, port: PublishedPort, error: &io::Error) {
        let reason = describe_port_error(port, error);
        self.ask_in_background(move |_, reviewer| {
            let request = RuntimeRequest::PortUnavailable { port, reason };
            reviewer.ask_and_wait(request, &|| false);
        });
    }

    /// Asks whether to publish a port if a program still listens on it after some time.
    fn review_later(self: &Arc<Self>, port: u16) {
        let Some(published) = PublishedPort::new(port, port) else { return };
        self.ask_in_background(move |this, reviewer| {
            thread::sleep(REPORT_DELAY);
            let is_gone = || !this.has_listener(port);
            let request = RuntimeRequest::PublishPort { port };
            if !is_gone() && reviewer.ask_and_wait(request, &is_gone).is_approval() {
                this.publish(published);
            }
        });
    }

    /// Runs a function that waits for the reviewer, if there is one. If no thread can be started,
    /// the port is only in the report of the run.
    fn ask_in_background(
        self: &Arc<Self>,
        run: impl FnOnce(&Arc<Self>, &ReviewClient) + Send + 'static,
    ) {
        let this = Arc::clone(self);
        let asking = move || {
            if let Some(reviewer) = &this.reviewer {
                run(&this, reviewer);
            }
        };
        if self.reviewer.is_some() {
            drop(thread::Builder::new().stack_size(STACK_BYTES).spawn(asking));
        }
    }

    fn has_listener(&self, port: u16) -> bool {
        let addresses = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        addresses.into_iter().any(|address| {
            self.sockets.has_tcp_listener(SocketAddr::new(address, port)).unwrap_or_default()
        })
    }
}
