//! The listeners that connections out of the sandbox reach.
//!
//! Programs inside can listen on every port from 1024, so the supervisor does not. It connects the
//! socket of a program to a listener at the same address and another port instead, which is made
//! for the first connection to this target. The program notices it only if it asks for the port of
//! its peer.
//!
//! A connection to the loopback leads to a program inside if one listens on this port, as without a
//! sandbox. Otherwise it leads to the host, if a rule allows that and a program of the host listens.
//! If neither is so, the kernel refuses it.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
    sync::{Arc, Mutex, PoisonError},
};

use rustix::io::Errno;

use crate::{
    ipc::ListenRequest,
    network::{ConnectionBroker, FIRST_UNPRIVILEGED_PORT, SandboxSockets, is_own_address},
};

/// The number of listeners that are added because programs want to connect to other hosts.
const MAX_LISTENERS: usize = 256;

/// The capture of connections to other hosts.
pub(crate) struct PortCapture {
    broker: Arc<ConnectionBroker>,
    listen: Box<dyn Fn(ListenRequest) -> io::Result<Vec<OwnedFd>> + Send + Sync>,
    listener_count: Mutex<usize>,
}

impl PortCapture {
    /// Creates a capture. `listen` makes the process inside listen.
    pub(crate) fn new(
        broker: Arc<ConnectionBroker>,
        listen: impl Fn(ListenRequest) -> io::Result<Vec<OwnedFd>> + Send + Sync + 'static,
    ) -> Self {
        Self { broker, listen: Box::new(listen), listener_count: Mutex::default() }
    }

    /// Returns the address at which a connection to `to` reaches its target. It is of the same
    /// family. Without a listener there, the connection ends inside the sandbox.
    pub(crate) fn captured_address(
        &self,
        to: SocketAddr,
        sockets: &SandboxSockets,
    ) -> Result<SocketAddr, Errno> {
        let target = SocketAddr::new(specified_address(to.ip()), to.port());
        let is_own = is_own_address(target.ip());
        if is_own && !self.leads_to_host(target, sockets) {
            return Ok(to);
        }
        if target.port() >= FIRST_UNPRIVILEGED_PORT
            && let Some(listener) = self.redirect(target)
        {
            return Ok(with_family_of(to, listener));
        }
        // Listening on the port of the loopback would keep programs from doing so.
        if !is_own || target.port() < FIRST_UNPRIVILEGED_PORT {
            self.ensure_listener(target.port())?;
        }
        Ok(to)
    }

    /// Returns whether a connection to an address of the sandbox itself leads to the host. In doubt
    /// it does not.
    fn leads_to_host(&self, target: SocketAddr, sockets: &SandboxSockets) -> bool {
        let [v4, v6]: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        let is_free = |address| {
            sockets.has_tcp_listener(SocketAddr::new(address, target.port())) == Ok(false)
        };
        // A program inside that listens at one address of `localhost` is meant by the others, too.
        let is_unused = self.broker.is_listening_on(target.port())
            || [target.ip(), v4, v6].into_iter().all(is_free);
        is_unused && self.broker.leads_to_host(target)
    }

    /// Returns the listener for connections to `target`, which is added if there is none.
    fn redirect(&self, target: SocketAddr) -> Option<SocketAddr> {
        let mut count = self.listener_count.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = self.broker.redirect(target) {
            return Some(listener);
        }
        if *count >= MAX_LISTENERS {
            return None;
        }
        let listener = (self.listen)(ListenRequest::Address(target.ip())).ok()?.pop()?;
        *count += 1;
        self.broker.add_redirect(target, listener).ok()
    }

    /// Makes sure that the supervisor listens on a port. If it cannot, the connection ends inside
    /// the sandbox: a program of the sandbox listens there, or no program does.
    fn ensure_listener(&self, port: u16) -> Result<(), Errno> {
        let mut count = self.listener_count.lock().unwrap_or_else(PoisonError::into_inner);
        if *count >= MAX_LISTENERS || self.broker.is_listening_on(port) {
            return Ok(());
        }
        if let Ok(listeners) = (self.listen)(ListenRequest::Port(port)) {
            *count += 1;
            self.broker.add_listeners(listeners).map_err(|_| Errno::NOMEM)?;
        }
        Ok(())
    }
}

/// Returns the address in its usual form, with the address of the loopback that the kernel connects
/// to in place of an unspecified one.
fn specified_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) if address.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(address) if address.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        address => address,
    }
}

/// Returns `address` in a form that a socket which can connect to `like` can connect to.
fn with_family_of(like: SocketAddr, address: SocketAddr) -> SocketAddr {
    match address.ip() {
        IpAddr::V4(v4) if like.is_ipv6() => {
            SocketAddr::new(v4.to_ipv6_mapped().into(), address.port())
        }
        _ => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_keeps_its_family() {
        for (to, target) in [
            ("0.0.0.0:80", "127.0.0.1:80"),
            ("[::]:80", "[::1]:80"),
            ("[::ffff:0.0.0.0]:80", "127.0.0.1:80"),
            ("[::ffff:10.0.0.1]:80", "10.0.0.1:80"),
            ("[2606:4700::1111]:80", "[2606:4700::1111]:80"),
        ] {
            let to: SocketAddr = to.parse().unwrap();
            let specified = SocketAddr::new(specified_address(to.ip()), to.port());
            assert_eq!(specified, target.parse().unwrap());
            assert_eq!(with_family_of(to, specified).is_ipv6(), to.is_ipv6());
        }
    }
}
