//! The listeners of the host at which ports of the sandbox are published.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener},
};

use openoxide_protocol::PublishedPort;
use rustix::io::Errno;

/// The addresses at which ports are published. No other machine can connect to them.
const LOOPBACK: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

/// A port of the sandbox, and the listeners of the host that accept connections to it.
#[derive(Debug)]
pub(crate) struct PublishedListener {
    pub(super) port: PublishedPort,
    pub(super) listeners: Vec<TcpListener>,
}

impl PublishedListener {
    /// Listens on the port of the host, at its loopback addresses. A machine without IPv6 has only
    /// one.
    ///
    /// # Errors
    /// Returns the error of the kernel, for example if another program uses the port.
    pub(crate) fn bind(port: PublishedPort) -> io::Result<Self> {
        let mut listeners = Vec::new();
        for address in LOOPBACK {
            match TcpListener::bind(SocketAddr::new(address, port.host_port())) {
                Err(error) if address.is_ipv6() && is_address_missing(&error) => {}
                listener => {
                    let listener = listener?;
                    listener.set_nonblocking(true)?;
                    listeners.push(listener);
                }
            }
        }
        Ok(Self { port, listeners })
    }
}

fn is_address_missing(error: &io::Error) -> bool {
    let missing = [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL];
    missing.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}
