//! Where the connections of a confined process end: outside, with the rights of whoever started it.

use std::{
    collections::BTreeSet,
    fmt,
    io::{self, Read as _, Write as _},
    net::{TcpListener, TcpStream, UdpSocket},
    os::fd::OwnedFd,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use openoxide_protocol::Network;
use rustix::net::{SocketType, sockopt::socket_type};

use super::{
    connection::Rules,
    dns,
    inside::NAME_SERVICE,
    listening::Listening,
    outside::{Outside, ThisHost},
    pool::Pool,
    refused::Refused,
    reviewer::NetworkReviewer,
    slots::{Slot, Slots},
};
use crate::{Denial, questions::Questions};

/// How many connections are carried or held at once. More wait to be accepted.
const MOST: usize = 256;
/// How many hosts are asked about at once: more than anybody keeps apart.
const MOST_OPEN: usize = 8;
/// How long a person may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long somebody who asks for names may stay silent.
const SILENCE: Duration = Duration::from_secs(5);
/// Resolving names runs the C library's modules on these.
const STACK: usize = 512 * 1024;

/// Takes the connections of a confined process, judges them, and makes outside those that may be.
///
/// It works on threads of its own, and ends when it is dropped; connections that were joined go on until they end.
pub struct Broker {
    listening: Arc<Listening>,
    ports: Mutex<BTreeSet<u16>>,
    rules: Arc<Rules>,
}

impl Broker {
    /// Starts with the sockets that [`prepare`](super::inside::prepare) made inside. Without a reviewer, what no rule names is
    /// refused.
    ///
    /// # Errors
    /// There are no descriptors or threads left.
    pub fn start(
        listeners: Vec<OwnedFd>,
        network: Network,
        reviewer: Option<Box<dyn NetworkReviewer>>,
    ) -> io::Result<Self> {
        Self::start_with(listeners, network, reviewer, Box::new(ThisHost))
    }

    pub(super) fn start_with(
        listeners: Vec<OwnedFd>,
        network: Network,
        reviewer: Option<Box<dyn NetworkReviewer>>,
        outside: Box<dyn Outside>,
    ) -> io::Result<Self> {
        let questions = reviewer.map(|reviewer| {
            let ask =
                move |(host, port): &(String, u16), _: &dyn Fn() -> bool| reviewer.ask(host, *port);
            Questions::new(ask, PATIENCE, MOST_OPEN)
        });
        let (pool, refused) = (Pool::default(), Arc::default());
        let rules = Arc::new(Rules { network, pool, questions, outside, refused });
        let listening = Arc::new(Listening::new()?);
        let broker = Self { listening, ports: Mutex::default(), rules };
        broker.add(listeners)?;
        let (listening, rules) = (Arc::clone(&broker.listening), Arc::clone(&broker.rules));
        let slots = Slots::new(MOST);
        spawn(move || listening.accept(|stream| serve(&rules, stream, slots.take())))?;
        Ok(broker)
    }

    /// Takes more sockets that [`listen`](super::inside::listen) made inside.
    ///
    /// # Errors
    /// One of them is no socket, or there are no threads left.
    pub fn add(&self, listeners: Vec<OwnedFd>) -> io::Result<()> {
        for socket in listeners {
            if socket_type(&socket)? == SocketType::STREAM {
                let listener = TcpListener::from(socket);
                self.ports().insert(listener.local_addr()?.port());
                self.listening.add(listener);
            } else {
                let rules = Arc::clone(&self.rules);
                spawn(move || name_packets(&UdpSocket::from(socket), &rules.pool))?;
            }
        }
        Ok(())
    }

    /// Says whether connections to a port arrive here.
    pub(crate) fn listens_on(&self, port: u16) -> bool {
        self.ports().contains(&port)
    }

    fn ports(&self) -> MutexGuard<'_, BTreeSet<u16>> {
        self.ports.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what was refused so far, in order, each once.
    #[must_use]
    pub fn denials(&self) -> Vec<Denial> {
        self.rules.refused.all()
    }

    /// Returns where refusals are noted, for others that refuse.
    pub(crate) fn refused(&self) -> Arc<Refused> {
        Arc::clone(&self.rules.refused)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.listening.end();
    }
}

/// Serves one connection on a thread of its own.
fn serve(rules: &Arc<Rules>, stream: TcpStream, slot: Slot) {
    let rules = Arc::clone(rules);
    let serving = move || {
        if stream.local_addr().is_ok_and(|to| to.port() == NAME_SERVICE) {
            drop(name_stream(&stream, &rules.pool));
        } else {
            rules.carry(&stream);
        }
        drop(slot);
    };
    // Without a thread the connection ends, and whoever made it sees that.
    drop(spawn(serving));
}

/// Answers questions about names, one a packet.
fn name_packets(socket: &UdpSocket, pool: &Pool) {
    let mut packet = [0; dns::MOST];
    loop {
        match socket.recv_from(&mut packet) {
            Ok((length, from)) => {
                let answer = packet.get(..length).and_then(|packet| dns::answer(packet, pool));
                drop(answer.map(|answer| socket.send_to(&answer, from)));
            }
            Err(_) => thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// Answers questions about names, each after its length (RFC 1035 §4.2.2).
fn name_stream(mut stream: &TcpStream, pool: &Pool) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    loop {
        let mut length = [0; 2];
        stream.read_exact(&mut length)?;
        let mut packet = vec![0; usize::from(u16::from_be_bytes(length))];
        stream.read_exact(&mut packet)?;
        let answer = dns::answer(&packet, pool).ok_or(io::ErrorKind::InvalidData)?;
        let length = u16::try_from(answer.len()).map_err(io::Error::other)?;
        stream.write_all(&[&length.to_be_bytes(), answer.as_slice()].concat())?;
    }
}

fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK).spawn(work).map(drop)
}

impl fmt::Debug for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("network", &self.rules.network).finish_non_exhaustive()
    }
}
