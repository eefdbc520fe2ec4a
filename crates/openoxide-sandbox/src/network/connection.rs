//! One connection of a confined process: checked, made outside, and joined.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use openoxide_protocol::{
    HostPort, NetworkAccess,
    address::{canonical_address, is_private, is_public},
};
use rustix::net::sockopt::set_socket_linger;

use crate::{
    interface::{RefusedAddress, SandboxDenial},
    network::{
        address_pool::AddressPool,
        contacted_hosts::ContactedHosts,
        host_network::HostNetwork,
        reviewer::ReviewedConnection,
        verdict::{ConnectionTarget, ConnectionVerdict, has_address_rule, judge_connection},
    },
    runtime_reviews::{DenialLog, ReviewCoordinator, ReviewOutcome},
};

const STACK_BYTES: usize = 128 * 1024;
/// The time that a host has to answer, and the maximum number of its addresses that are tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_ADDRESSES: usize = 8;

/// The hosts that rules allow.
#[derive(Clone, Debug)]
pub(crate) struct ReachableHosts {
    /// The hosts that can be reached.
    pub(crate) network: NetworkAccess,
    /// The hosts whose names may lead to private addresses.
    pub(crate) private_hosts: BTreeSet<HostPort>,
}

/// The rules and services that every connection is handled with.
pub(super) struct ConnectionHandler {
    pub(super) hosts: ReachableHosts,
    pub(super) pool: AddressPool,
    pub(super) reviews: Option<Arc<ReviewCoordinator<ReviewedConnection>>>,
    pub(super) host_network: Box<dyn HostNetwork>,
    pub(super) denials: Arc<DenialLog>,
    pub(super) contacted: ContactedHosts,
}

/// The reason that a host may not be reached: the address that it leads to, if it has one.
struct ForbiddenAddress(Option<RefusedAddress>);

impl ConnectionHandler {
    /// Connects to the address that `inside` is meant for and forwards the connection until its
    /// end, or resets it.
    pub(super) fn handle(&self, inside: &TcpStream, to: SocketAddr) {
        match self.connect_if_allowed(to) {
            Some(outside) => forward_both_ways(inside, &outside),
            None => set_reset_on_close(inside),
        }
    }

    /// Returns whether a rule allows connections to this address of the host's loopback, and a
    /// program of the host accepts them.
    pub(super) fn leads_to_host(&self, to: SocketAddr) -> bool {
        let address = canonical_address(to.ip());
        let accepts = |one| self.host_network.is_listening(SocketAddr::new(one, to.port()));
        address.is_loopback()
            && has_address_rule(&self.hosts.network, address, to.port())
            && loopback_addresses(address).into_iter().any(accepts)
    }

    fn connect_if_allowed(&self, to: SocketAddr) -> Option<TcpStream> {
        let port = to.port();
        let (host, allowed) = match judge_connection(&self.hosts.network, &self.pool, to) {
            ConnectionVerdict::NoListener => return None,
            ConnectionVerdict::Allowed(host) => (host, true),
            ConnectionVerdict::Refused(host) => (host, false),
            ConnectionVerdict::NeedsReview(host) => {
                let yes = !self.is_this_machine(&host) && self.is_permitted(&host, None, port);
                (host, yes)
            }
        };
        let addresses =
            if allowed { self.allowed_addresses(&host, port) } else { Err(ForbiddenAddress(None)) };
        match addresses {
            Ok(addresses) => {
                self.record_contact(&host, port);
                self.connect_to_any(&addresses, port)
            }
            Err(ForbiddenAddress(address)) => {
                let host = host.to_string();
                self.denials.record(SandboxDenial::Connect { host, port, address });
                None
            }
        }
    }

    fn record_contact(&self, host: &ConnectionTarget, port: u16) {
        if matches!(host, ConnectionTarget::Address(address) if address.is_loopback()) {
            self.contacted.record("localhost".to_owned(), port);
        }
        self.contacted.record(host.to_string(), port);
    }

    /// Returns whether this is an address of this machine. Only a rule about the address opens it,
    /// because every service that listens on all interfaces is reached there.
    fn is_this_machine(&self, host: &ConnectionTarget) -> bool {
        matches!(host, ConnectionTarget::Address(one) if self.host_network.is_local_address(*one))
    }

    /// Returns whether the reviewer permits a host, or the private address that it leads to.
    fn is_permitted(
        &self,
        host: &ConnectionTarget,
        private_address: Option<IpAddr>,
        port: u16,
    ) -> bool {
        let connection = ReviewedConnection { host: host.to_string(), private_address, port };
        let Some(reviews) = &self.reviews else { return false };
        let outcome = reviews.review(&connection, || true);
        self.denials.record_outcome(outcome);
        outcome == ReviewOutcome::Approved
    }

    /// Connects to the first address that answers. An address that does not answer must not prevent
    /// the others from being tried.
    fn connect_to_any(&self, addresses: &[IpAddr], port: u16) -> Option<TcpStream> {
        let patience = if addresses.len() > 1 { CONNECT_TIMEOUT / 4 } else { CONNECT_TIMEOUT };
        let made = |to| self.host_network.connect(SocketAddr::new(to, port), patience).ok();
        addresses.iter().take(MAX_ADDRESSES).copied().find_map(made)
    }

    /// Returns the addresses of a host that may be reached.
    fn allowed_addresses(
        &self,
        host: &ConnectionTarget,
        port: u16,
    ) -> Result<Vec<IpAddr>, ForbiddenAddress> {
        match host {
            ConnectionTarget::Address(address) if address.is_loopback() => {
                Ok(loopback_addresses(*address))
            }
            ConnectionTarget::Address(address) => {
                let own = self.hosts.network == NetworkAccess::Internet
                    && self.host_network.is_local_address(*address);
                if own { Err(ForbiddenAddress(None)) } else { Ok(vec![*address]) }
            }
            ConnectionTarget::Name(name) => self.addresses_of_name(name, port),
        }
    }

    /// Returns the addresses of a name that may be reached. A name must not lead to this machine,
    /// whatever its owner publishes later (DNS rebinding). It leads to a private network only if
    /// that exact name is allowed, or if a person permits the address.
    fn addresses_of_name(&self, name: &str, port: u16) -> Result<Vec<IpAddr>, ForbiddenAddress> {
        let all = self.host_network.resolve(name).unwrap_or_default();
        let is_public = |address: &IpAddr| {
            has_address_rule(&self.hosts.network, *address, port)
                || is_public(*address) && !self.host_network.is_local_address(*address)
        };
        let public: Vec<_> = all.iter().copied().filter(is_public).collect();
        if !public.is_empty() || all.is_empty() {
            return Ok(public);
        }
        let mut private: Vec<_> =
            all.iter().copied().filter(|address| self.is_neighbour(*address)).collect();
        private.sort_by_key(IpAddr::is_ipv6);
        let Some(first) = private.first().copied() else {
            let refused = all
                .first()
                .map(|address| RefusedAddress { address: *address, is_neighbour: false });
            return Err(ForbiddenAddress(refused));
        };
        if self.hosts.private_hosts.iter().any(|host| host.matches(name, port)) {
            return Ok(private);
        }
        let host = ConnectionTarget::Name(name.to_owned());
        if self.is_permitted(&host, Some(first), port) {
            Ok(vec![first])
        } else {
            Err(ForbiddenAddress(Some(RefusedAddress { address: first, is_neighbour: true })))
        }
    }

    /// Returns whether an address is a private one of another machine, in its usual spelling.
    fn is_neighbour(&self, address: IpAddr) -> bool {
        address == canonical_address(address)
            && is_private(address)
            && !self.host_network.is_local_address(address)
    }
}

/// Returns the addresses of `localhost`, starting with `first`. A service listens at one of them,
/// and programs try both.
fn loopback_addresses(first: IpAddr) -> Vec<IpAddr> {
    let other: IpAddr =
        if first.is_ipv4() { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    vec![first, other]
}

/// Forwards bytes in both directions until both have ended. The end of one direction is forwarded,
/// and the other direction continues.
fn forward_both_ways(inside: &TcpStream, outside: &TcpStream) {
    let carried = thread::scope(|scope| {
        let back = thread::Builder::new().stack_size(STACK_BYTES);
        let back = back.spawn_scoped(scope, || forward_one_way(outside, inside))?;
        forward_one_way(inside, outside);
        Ok::<_, io::Error>(back.join())
    });
    if carried.is_err() {
        close_both(inside, outside);
    }
}

fn forward_one_way(mut from: &TcpStream, mut to: &TcpStream) {
    match io::copy(&mut from, &mut to) {
        Ok(_) => drop(to.shutdown(Shutdown::Write)),
        Err(_) => close_both(from, to),
    }
}

/// Makes closing a connection send a reset, as for a port without a listener.
fn set_reset_on_close(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

/// Shuts down both directions, which wakes up the thread that reads in the other one.
fn close_both(one: &TcpStream, other: &TcpStream) {
    for stream in [one, other] {
        set_reset_on_close(stream);
        drop(stream.shutdown(Shutdown::Both));
    }
}
