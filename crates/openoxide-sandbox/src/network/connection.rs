//! One connection of a confined process: checked, made outside, and joined.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use openoxide_protocol::{NetworkAccess, address::is_public};
use rustix::net::sockopt::set_socket_linger;

use crate::{
    interface::SandboxDenial,
    network::{
        address_pool::AddressPool,
        host_network::HostNetwork,
        verdict::{ConnectionTarget, ConnectionVerdict, has_address_rule, judge_connection},
    },
    runtime_reviews::{DenialLog, ReviewCoordinator},
};

const STACK_BYTES: usize = 128 * 1024;
/// The time that a host has to answer, and the maximum number of its addresses that are tried.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_ADDRESSES: usize = 8;

/// The rules and services that every connection is handled with.
pub(super) struct ConnectionHandler {
    pub(super) network: NetworkAccess,
    pub(super) pool: AddressPool,
    pub(super) reviews: Option<Arc<ReviewCoordinator<(String, u16)>>>,
    pub(super) host_network: Box<dyn HostNetwork>,
    pub(super) denials: Arc<DenialLog>,
}

impl ConnectionHandler {
    /// Makes the connection that `inside` is meant for and forwards it until its end, or resets it.
    pub(super) fn handle(&self, inside: &TcpStream) {
        let made = inside.local_addr().ok().and_then(|to| self.connect_if_allowed(to));
        match made {
            Some(outside) => forward_both_ways(inside, &outside),
            None => set_reset_on_close(inside),
        }
    }

    fn connect_if_allowed(&self, to: SocketAddr) -> Option<TcpStream> {
        let (host, allowed) = match judge_connection(&self.network, &self.pool, to) {
            ConnectionVerdict::NoListener => return None,
            ConnectionVerdict::Allowed(host) => (host, true),
            ConnectionVerdict::Refused(host) => (host, false),
            ConnectionVerdict::NeedsReview(host) => {
                let yes = self.is_permitted(&host, to.port());
                (host, yes)
            }
        };
        let addresses = if allowed { self.allowed_addresses(&host, to.port()) } else { None };
        if addresses.is_none() {
            self.denials.record(SandboxDenial::Connect { host: host.to_string(), port: to.port() });
        }
        self.connect_to_any(&addresses?, to.port())
    }

    fn is_permitted(&self, host: &ConnectionTarget, port: u16) -> bool {
        self.reviews.as_ref().is_some_and(|all| all.review(&(host.to_string(), port), || true))
    }

    /// Connects to the first address that answers. An address that does not answer must not prevent
    /// the others from being tried.
    fn connect_to_any(&self, addresses: &[IpAddr], port: u16) -> Option<TcpStream> {
        let patience = if addresses.len() > 1 { CONNECT_TIMEOUT / 4 } else { CONNECT_TIMEOUT };
        let made = |to| self.host_network.connect(SocketAddr::new(to, port), patience).ok();
        addresses.iter().take(MAX_ADDRESSES).copied().find_map(made)
    }

    /// Returns the addresses of a host that may be reached, or `None` if all of them are forbidden.
    /// A name must not lead to this machine or its neighbours, whatever its owner publishes later
    /// (DNS rebinding).
    fn allowed_addresses(&self, host: &ConnectionTarget, port: u16) -> Option<Vec<IpAddr>> {
        let all = match host {
            ConnectionTarget::Address(address) if address.is_loopback() => {
                return Some(loopback_addresses(*address));
            }
            ConnectionTarget::Address(address) => {
                let own = self.network == NetworkAccess::Internet
                    && self.host_network.is_local_address(*address);
                return (!own).then(|| vec![*address]);
            }
            ConnectionTarget::Name(name) => self.host_network.resolve(name).unwrap_or_default(),
        };
        let fine = |address: &IpAddr| {
            has_address_rule(&self.network, *address, port)
                || is_public(*address) && !self.host_network.is_local_address(*address)
        };
        let some = !all.is_empty();
        let allowed: Vec<_> = all.into_iter().filter(fine).collect();
        (!allowed.is_empty() || !some).then_some(allowed)
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
