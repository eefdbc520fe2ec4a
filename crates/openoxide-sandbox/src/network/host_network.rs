//! Access to the host's network: names and connections.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket},
    time::Duration,
};

use crate::network::socket_diag::SocketDiagnostics;

/// The time that an attempt to connect to the loopback may take.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);

/// The network operations that the host performs for a confined process.
pub(super) trait HostNetwork: Send + Sync {
    /// Returns the addresses of a name.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to an address, with this timeout.
    fn connect(&self, to: SocketAddr, patience: Duration) -> io::Result<TcpStream>;

    /// Returns whether an address belongs to this machine.
    fn is_local_address(&self, address: IpAddr) -> bool;

    /// Returns whether connections to this address of the loopback are accepted.
    fn is_listening(&self, at: SocketAddr) -> bool;
}

/// The real network of the host.
pub(super) struct SystemNetwork;

impl HostNetwork for SystemNetwork {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok((name, 0).to_socket_addrs()?.map(|address| address.ip()).collect())
    }

    fn connect(&self, to: SocketAddr, patience: Duration) -> io::Result<TcpStream> {
        TcpStream::connect_timeout(&to, patience)
    }

    /// Returns whether an address belongs to this machine, because only such an address can be the
    /// source of a packet.
    fn is_local_address(&self, address: IpAddr) -> bool {
        UdpSocket::bind((address, 0)).is_ok()
    }

    /// Returns whether a program listens there. Where the kernel's list contains none, an attempt
    /// shows whether a firewall redirects the address.
    fn is_listening(&self, at: SocketAddr) -> bool {
        let listed = SocketDiagnostics::open().and_then(|list| Ok(list.has_tcp_listener(at)?));
        listed.is_ok_and(|is_listed| is_listed)
            || TcpStream::connect_timeout(&at, ATTEMPT_TIMEOUT).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    use super::*;

    #[test]
    fn names_of_the_host_are_resolved() {
        let addresses = SystemNetwork.resolve("localhost").unwrap();
        assert!(
            !addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback),
            "{addresses:?}"
        );
        assert!(SystemNetwork.resolve("nobody.invalid").is_err());
    }

    #[test]
    fn listeners_of_the_host_are_known() {
        for at in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
            let Ok(listener) = TcpListener::bind(at) else { continue };
            let port = listener.local_addr().unwrap().port();
            let listens = |ip: &str| {
                let at = SocketAddr::new(ip.parse().unwrap(), port);
                let list = SocketDiagnostics::open().unwrap();
                let is_listed = list.has_tcp_listener(at).unwrap();
                assert_eq!(SystemNetwork.is_listening(at), is_listed, "{at}");
                is_listed
            };
            // ip(7), ipv6(7): `::` accepts connections over IPv4, too.
            assert_eq!(listens("127.0.0.1"), !at.starts_with("[::1]"), "{at}");
            assert_eq!(listens("127.0.0.2"), !at.contains("1"), "{at}");
            assert_eq!(listens("::1"), at.starts_with('['), "{at}");
            // A connection is no listener.
            let to = listener.local_addr().unwrap();
            let to = if at.contains('1') { to } else { (listener_loopback(to), port).into() };
            let client = TcpStream::connect(to).unwrap();
            drop(listener);
            assert!(!SystemNetwork.is_listening(to), "{at}");
            drop(client);
        }
    }

    fn listener_loopback(like: SocketAddr) -> IpAddr {
        let v6 = like.is_ipv6();
        if v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() }
    }

    #[test]
    fn its_own_addresses_are_known() {
        let own = |address: &str| SystemNetwork.is_local_address(address.parse().unwrap());
        assert!(own("127.0.0.1"));
        assert!(!own("93.184.216.34"));
    }
}
