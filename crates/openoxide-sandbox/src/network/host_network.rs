//! Access to the host's network: names and connections.

use std::{
    io,
    net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket},
    time::Duration,
};

/// The network operations that the host performs for a confined process.
pub(super) trait HostNetwork: Send + Sync {
    /// Returns the addresses of a name.
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;

    /// Connects to an address, with this timeout.
    fn connect(&self, to: SocketAddr, patience: Duration) -> io::Result<TcpStream>;

    /// Returns whether an address belongs to this machine.
    fn is_local_address(&self, address: IpAddr) -> bool;
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
}

#[cfg(test)]
mod tests {
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
    fn its_own_addresses_are_known() {
        let own = |address: &str| SystemNetwork.is_local_address(address.parse().unwrap());
        assert!(own("127.0.0.1"));
        assert!(!own("93.184.216.34"));
    }
}
