//! The outer end of a confined process's connections, with the permissions of the user who started
//! it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    io::{self, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream, UdpSocket},
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use rustix::net::{SocketType, sockopt::socket_type};

use crate::{
    interface::SandboxDenial,
    network::{
        address_pool::AddressPool,
        concurrency_limit::{ConcurrencyLimit, ConcurrencySlot},
        connection::{ConnectionHandler, ReachableHosts},
        contacted_hosts::ContactedHosts,
        dns,
        host_network::{HostNetwork, SystemNetwork},
        listener_set::{BrokerListener, ListenerSet},
        namespace_setup::DNS_PORT,
        reviewer::{NetworkReviewer, ReviewedConnection},
    },
    runtime_reviews::{DenialLog, ReviewCoordinator},
};

/// The maximum number of connections that are forwarded or suspended at once. Further ones wait
/// until they are accepted.
const MAX_CONNECTIONS: usize = 256;
/// The maximum number of hosts that are reviewed at once. A person cannot keep track of more.
const MAX_OPEN_REVIEWS: usize = 8;
/// The time that a person has to answer.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum time that a client of the name service may be idle.
const DNS_READ_TIMEOUT: Duration = Duration::from_secs(5);
/// The stack size of the threads. Resolving names runs modules of the C library on them.
const STACK_BYTES: usize = 512 * 1024;

/// A broker that accepts the connections of a confined process, checks them, and makes the
/// permitted ones outside.
///
/// It works on its own threads, and stops when it is dropped. Joined connections continue until
/// they end.
pub(crate) struct ConnectionBroker {
    listeners: Arc<ListenerSet>,
    ports: Mutex<BTreeSet<u16>>,
    redirects: Mutex<BTreeMap<SocketAddr, SocketAddr>>,
    handler: Arc<ConnectionHandler>,
}

impl ConnectionBroker {
    /// Starts a broker with the sockets that [`prepare`](super::namespace_setup::prepare) created
    /// inside. Without a reviewer, a host that no rule names is refused.
    ///
    /// # Errors
    /// Returns an error if there are no descriptors or threads left.
    pub(crate) fn start(
        listeners: Vec<OwnedFd>,
        hosts: ReachableHosts,
        reviewer: Option<Box<dyn NetworkReviewer>>,
    ) -> io::Result<Self> {
        Self::start_with(listeners, hosts, reviewer, Box::new(SystemNetwork))
    }

    pub(super) fn start_with(
        listeners: Vec<OwnedFd>,
        hosts: ReachableHosts,
        reviewer: Option<Box<dyn NetworkReviewer>>,
        outside: Box<dyn HostNetwork>,
    ) -> io::Result<Self> {
        let questions = reviewer.map(|reviewer| {
            let ask = move |one: &ReviewedConnection, _: &dyn Fn() -> bool| reviewer.ask(one);
            ReviewCoordinator::new(ask, REVIEW_TIMEOUT, MAX_OPEN_REVIEWS)
        });
        let (pool, refused) = (AddressPool::default(), Arc::default());
        let rules = Arc::new(ConnectionHandler {
            hosts,
            pool,
            reviews: questions,
            host_network: outside,
            denials: refused,
            contacted: ContactedHosts::default(),
        });
        let listening = Arc::new(ListenerSet::new()?);
        let broker = Self {
            listeners: listening,
            ports: Mutex::default(),
            redirects: Mutex::default(),
            handler: rules,
        };
        broker.add_listeners(listeners)?;
        let (listening, rules) = (Arc::clone(&broker.listeners), Arc::clone(&broker.handler));
        let slots = ConcurrencyLimit::new(MAX_CONNECTIONS);
        spawn_thread(move || {
            listening.accept(|stream, to| {
                if let Some(to) = to {
                    serve_connection(&rules, stream, to, slots.acquire());
                }
            });
        })?;
        Ok(broker)
    }

    /// Adds sockets that [`listen`](super::namespace_setup::listen) created inside.
    ///
    /// # Errors
    /// Returns an error if one of them is not a socket, or if there are no threads left.
    pub(crate) fn add_listeners(&self, listeners: Vec<OwnedFd>) -> io::Result<()> {
        for socket in listeners {
            if socket_type(&socket)? == SocketType::STREAM {
                let listener = TcpListener::from(socket);
                self.lock_ports().insert(listener.local_addr()?.port());
                self.listeners.add(BrokerListener { listener, target: None });
            } else {
                let rules = Arc::clone(&self.handler);
                spawn_thread(move || serve_dns_packets(&UdpSocket::from(socket), &rules.pool))?;
            }
        }
        Ok(())
    }

    /// Adds a socket that [`listen_for_redirects`](super::namespace_setup::listen_for_redirects)
    /// created inside. Its connections are meant for `target`. Returns its address.
    ///
    /// # Errors
    /// Returns an error if it is not a socket with an address.
    pub(crate) fn add_redirect(
        &self,
        target: SocketAddr,
        listener: OwnedFd,
    ) -> io::Result<SocketAddr> {
        let listener = TcpListener::from(listener);
        let address = listener.local_addr()?;
        self.listeners.add(BrokerListener { listener, target: Some(target) });
        self.lock_redirects().insert(target, address);
        Ok(address)
    }

    /// Returns the address at which connections for `target` arrive here, if there is one.
    pub(crate) fn redirect(&self, target: SocketAddr) -> Option<SocketAddr> {
        self.lock_redirects().get(&target).copied()
    }

    /// Returns whether connections to a port of any address arrive here.
    pub(crate) fn is_listening_on(&self, port: u16) -> bool {
        self.lock_ports().contains(&port)
    }

    /// Returns whether connections to a port of some address arrive here.
    pub(crate) fn uses_port(&self, port: u16) -> bool {
        self.is_listening_on(port) || self.lock_redirects().values().any(|to| to.port() == port)
    }

    /// Returns whether a rule allows connections to an address of the host's loopback, and a
    /// program of the host accepts them.
    pub(crate) fn leads_to_host(&self, to: SocketAddr) -> bool {
        self.handler.leads_to_host(to)
    }

    /// Returns the hosts that programs connect to.
    pub(crate) fn contacted_hosts(&self) -> ContactedHosts {
        self.handler.contacted.clone()
    }

    fn lock_ports(&self) -> MutexGuard<'_, BTreeSet<u16>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_redirects(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, SocketAddr>> {
        self.redirects.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the denials so far, in order and without duplicates.
    #[must_use]
    pub(crate) fn denials(&self) -> Vec<SandboxDenial> {
        self.handler.denials.to_vec()
    }

    /// Returns the log of denials, so that other components can add theirs.
    pub(crate) fn denial_log(&self) -> Arc<DenialLog> {
        Arc::clone(&self.handler.denials)
    }
}

impl Drop for ConnectionBroker {
    fn drop(&mut self) {
        self.listeners.stop();
    }
}

/// Serves one connection to this address on a separate thread.
fn serve_connection(
    rules: &Arc<ConnectionHandler>,
    stream: TcpStream,
    to: SocketAddr,
    slot: ConcurrencySlot,
) {
    let rules = Arc::clone(rules);
    let serving = move || {
        if to.port() == DNS_PORT {
            drop(serve_dns_stream(&stream, &rules.pool));
        } else {
            rules.handle(&stream, to);
        }
        drop(slot);
    };
    // If there is no thread, the connection is closed, and the client notices that.
    drop(spawn_thread(serving));
}

/// Answers DNS queries, one in each packet.
fn serve_dns_packets(socket: &UdpSocket, pool: &AddressPool) {
    let mut packet = [0; dns::MAX_MESSAGE_BYTES];
    loop {
        match socket.recv_from(&mut packet) {
            Ok((length, from)) => {
                let answer =
                    packet.get(..length).and_then(|packet| dns::build_answer(packet, pool));
                drop(answer.map(|answer| socket.send_to(&answer, from)));
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Answers DNS queries, each preceded by its length (RFC 1035 §4.2.2).
fn serve_dns_stream(mut stream: &TcpStream, pool: &AddressPool) -> io::Result<()> {
    stream.set_read_timeout(Some(DNS_READ_TIMEOUT))?;
    stream.set_write_timeout(Some(DNS_READ_TIMEOUT))?;
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let mut packet = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut packet)?;
        let answer = dns::build_answer(&packet, pool).ok_or(io::ErrorKind::InvalidData)?;
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        stream.write_all(&[&length.to_be_bytes(), answer.as_slice()].concat())?;
    }
}

fn spawn_thread(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK_BYTES).spawn(work).map(drop)
}

impl fmt::Debug for ConnectionBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConnectionBroker")
            .field("hosts", &self.handler.hosts)
            .finish_non_exhaustive()
    }
}
