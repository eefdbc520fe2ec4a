//! One connection of a confined process: judged, made outside, and joined.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream},
    sync::Arc,
    thread,
    time::Duration,
};

use openoxide_protocol::{Network, address::is_public};
use rustix::net::sockopt::set_socket_linger;

use super::{
    judge::{Host, Verdict, judge, names_literally},
    outside::Outside,
    pool::Pool,
    refused::Refused,
};
use crate::{Denial, questions::Questions};

const STACK: usize = 128 * 1024;
/// How long a host may take to answer, and how many of its addresses are tried.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_ADDRESSES: usize = 8;

/// What every connection is judged by.
pub(super) struct Rules {
    pub(super) network: Network,
    pub(super) pool: Pool,
    pub(super) questions: Option<Arc<Questions<(String, u16)>>>,
    pub(super) outside: Box<dyn Outside>,
    pub(super) refused: Arc<Refused>,
}

impl Rules {
    /// Makes the connection that `inside` was meant for and carries it to its end, or resets it.
    pub(super) fn carry(&self, inside: &TcpStream) {
        let made = inside.local_addr().ok().and_then(|to| self.made(to));
        match made {
            Some(outside) => join(inside, &outside),
            None => reset(inside),
        }
    }

    fn made(&self, to: SocketAddr) -> Option<TcpStream> {
        let (host, allowed) = match judge(&self.network, &self.pool, to) {
            Verdict::Nobody => return None,
            Verdict::Reached(host) => (host, true),
            Verdict::Refused(host) => (host, false),
            Verdict::Unknown(host) => {
                let yes = self.is_permitted(&host, to.port());
                (host, yes)
            }
        };
        let addresses = if allowed { self.addresses(&host, to.port()) } else { None };
        if addresses.is_none() {
            self.refused.add(Denial::Connect { host: host.to_string(), port: to.port() });
        }
        self.reach(&addresses?, to.port())
    }

    fn is_permitted(&self, host: &Host, port: u16) -> bool {
        self.questions.as_ref().is_some_and(|all| all.may(&(host.to_string(), port), || true))
    }

    /// Connects to the first address that answers. One that does not must not keep the others from being tried.
    fn reach(&self, addresses: &[IpAddr], port: u16) -> Option<TcpStream> {
        let patience = if addresses.len() > 1 { PATIENCE / 4 } else { PATIENCE };
        let made = |to| self.outside.connect(SocketAddr::new(to, port), patience).ok();
        addresses.iter().take(MOST_ADDRESSES).copied().find_map(made)
    }

    /// Returns the addresses of a host that may be reached. None: all that it has are forbidden. A name must not lead to
    /// this machine or its neighbours, whatever its owner says now (rebinding).
    fn addresses(&self, host: &Host, port: u16) -> Option<Vec<IpAddr>> {
        let all = match host {
            Host::Bare(address) if address.is_loopback() => return Some(loopback(*address)),
            Host::Bare(address) => {
                let own = self.network == Network::Internet && self.outside.is_own(*address);
                return (!own).then(|| vec![*address]);
            }
            Host::Named(name) => self.outside.resolve(name).unwrap_or_default(),
        };
        let fine = |address: &IpAddr| {
            names_literally(&self.network, *address, port)
                || is_public(*address) && !self.outside.is_own(*address)
        };
        let some = !all.is_empty();
        let allowed: Vec<_> = all.into_iter().filter(fine).collect();
        (!allowed.is_empty() || !some).then_some(allowed)
    }
}

/// A service of `localhost` listens at one of its addresses, and programs try both.
fn loopback(first: IpAddr) -> Vec<IpAddr> {
    let other: IpAddr =
        if first.is_ipv4() { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
    vec![first, other]
}

/// Carries bytes both ways until both sides are done. The end of one direction is passed on, and the other goes on.
fn join(inside: &TcpStream, outside: &TcpStream) {
    let carried = thread::scope(|scope| {
        let back = thread::Builder::new().stack_size(STACK);
        let back = back.spawn_scoped(scope, || carry(outside, inside))?;
        carry(inside, outside);
        Ok::<_, io::Error>(back.join())
    });
    if carried.is_err() {
        close(inside, outside);
    }
}

fn carry(mut from: &TcpStream, mut to: &TcpStream) {
    match io::copy(&mut from, &mut to) {
        Ok(_) => drop(to.shutdown(Shutdown::Write)),
        Err(_) => close(from, to),
    }
}

/// Makes the end of a connection a reset, as of a port that nobody listens on.
fn reset(stream: &TcpStream) {
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

/// Ends both directions: who reads in the other one wakes up.
fn close(one: &TcpStream, other: &TcpStream) {
    for stream in [one, other] {
        reset(stream);
        drop(stream.shutdown(Shutdown::Both));
    }
}
