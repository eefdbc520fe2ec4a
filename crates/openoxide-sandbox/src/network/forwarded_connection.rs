//! One connection of a program of the host to a published port.

use std::{
    collections::VecDeque,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::PollFlags,
    io::Errno,
    net::{AddressFamily, connect, sockopt},
};

use crate::network::byte_stream::ByteStream;

/// The time that a program inside has to accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// A connection that was accepted on the host, and the one inside that it is joined to.
#[derive(Debug)]
pub(super) struct ForwardedConnection {
    client: OwnedFd,
    port: u16,
    stage: ConnectionStage,
    deadline: Instant,
}

#[derive(Debug)]
enum ConnectionStage {
    /// No socket of the sandbox has arrived yet.
    WaitingForSocket,
    /// The first socket is being connected. The others are tried next.
    Connecting {
        socket: OwnedFd,
        next: VecDeque<OwnedFd>,
    },
    Joined {
        inside: OwnedFd,
        inward: ByteStream,
        outward: ByteStream,
    },
    Closed,
}

impl ForwardedConnection {
    /// Creates an instance for a connection that was accepted on the host, to this port inside.
    pub(super) fn new(client: TcpStream, port: u16) -> Self {
        let deadline = Instant::now() + CONNECT_TIMEOUT;
        Self { client: client.into(), port, stage: ConnectionStage::WaitingForSocket, deadline }
    }

    pub(super) const fn is_waiting_for_socket(&self) -> bool {
        matches!(self.stage, ConnectionStage::WaitingForSocket)
    }

    pub(super) const fn is_closed(&self) -> bool {
        matches!(self.stage, ConnectionStage::Closed)
    }

    pub(super) const fn port(&self) -> u16 {
        self.port
    }

    /// Returns whether the connection has nothing to forward any more from the program inside.
    pub(super) const fn has_forwarded_output(&self) -> bool {
        match &self.stage {
            ConnectionStage::Joined { outward, .. } => outward.is_finished(),
            _ => true,
        }
    }

    /// Closes the connection. If it was joined and everything from inside was forwarded, the client
    /// still receives that.
    pub(super) fn reset_unless_forwarded(&mut self) {
        let is_joined = matches!(self.stage, ConnectionStage::Joined { .. });
        if !(is_joined && self.has_forwarded_output()) {
            self.reset();
        }
    }

    /// Returns the time at which the connection is reset if it is not joined until then.
    pub(super) const fn deadline(&self) -> Option<Instant> {
        match self.stage {
            ConnectionStage::Joined { .. } | ConnectionStage::Closed => None,
            _ => Some(self.deadline),
        }
    }

    /// Connects to the program inside with the first of these sockets that succeeds. They are
    /// sockets of the sandbox's network.
    pub(super) fn connect_with(&mut self, sockets: Vec<OwnedFd>) {
        self.connect_next(sockets.into());
    }

    fn connect_next(&mut self, mut sockets: VecDeque<OwnedFd>) {
        while let Some(socket) = sockets.pop_front() {
            match loopback_address(&socket)
                .and_then(|address| connect(&socket, &SocketAddr::new(address, self.port)))
            {
                Ok(()) => return self.join(socket),
                Err(Errno::INPROGRESS) => {
                    self.stage = ConnectionStage::Connecting { socket, next: sockets };
                    return;
                }
                Err(_) => {}
            }
        }
        self.reset();
    }

    fn join(&mut self, inside: OwnedFd) {
        let (inward, outward) = Default::default();
        _ = sockopt::set_tcp_nodelay(&inside, true);
        _ = sockopt::set_tcp_nodelay(&self.client, true);
        self.stage = ConnectionStage::Joined { inside, inward, outward };
    }

    /// Closes both connections with a reset, as for a port without a listener.
    pub(super) fn reset(&mut self) {
        if let ConnectionStage::Joined { inside, .. } = &self.stage {
            _ = sockopt::set_socket_linger(inside, Some(Duration::ZERO));
        }
        _ = sockopt::set_socket_linger(&self.client, Some(Duration::ZERO));
        self.stage = ConnectionStage::Closed;
    }

    /// Returns the descriptors to poll, each with the events that can be handled now. A descriptor
    /// without such events is left out, because the kernel always reports a closed connection.
    pub(super) fn poll_targets(&self) -> Vec<(&OwnedFd, PollFlags)> {
        let targets = match &self.stage {
            ConnectionStage::WaitingForSocket | ConnectionStage::Closed => Vec::new(),
            ConnectionStage::Connecting { socket, .. } => vec![(socket, PollFlags::OUT)],
            ConnectionStage::Joined { inside, inward, outward } => {
                vec![(&self.client, events(inward, outward)), (inside, events(outward, inward))]
            }
        };
        targets.into_iter().filter(|(_, events)| !events.is_empty()).collect()
    }

    /// Continues after one of the descriptors became ready.
    pub(super) fn process_events(&mut self) {
        match &mut self.stage {
            ConnectionStage::WaitingForSocket | ConnectionStage::Closed => {}
            ConnectionStage::Connecting { .. } => self.finish_connecting(),
            ConnectionStage::Joined { inside, inward, outward } => {
                let forwarded = inward
                    .forward(&self.client, inside)
                    .and_then(|()| outward.forward(inside, &self.client));
                let is_finished = inward.is_finished() && outward.is_finished();
                match forwarded {
                    Err(_) => self.reset(),
                    Ok(()) if is_finished => self.stage = ConnectionStage::Closed,
                    Ok(()) => {}
                }
            }
        }
    }

    fn finish_connecting(&mut self) {
        let stage = std::mem::replace(&mut self.stage, ConnectionStage::Closed);
        let ConnectionStage::Connecting { socket, next } = stage else { return };
        match sockopt::socket_error(&socket) {
            Ok(Ok(())) => self.join(socket),
            Ok(Err(_)) | Err(_) => self.connect_next(next),
        }
    }
}

/// Returns the events of the socket that `incoming` is read from and `outgoing` is written to.
fn events(incoming: &ByteStream, outgoing: &ByteStream) -> PollFlags {
    let mut events = PollFlags::empty();
    events.set(PollFlags::IN, incoming.wants_input());
    events.set(PollFlags::OUT, outgoing.wants_output());
    events
}

fn loopback_address(socket: &OwnedFd) -> Result<IpAddr, Errno> {
    Ok(match sockopt::socket_domain(socket)? {
        AddressFamily::INET => Ipv4Addr::LOCALHOST.into(),
        _ => Ipv6Addr::LOCALHOST.into(),
    })
}
