//! The setup inside the new network namespace, with capabilities in it, before the program is
//! started.
//! It needs one thread and no memory of other processes. Its sockets are sent to the supervisor,
//! which stays outside.

use std::{
    collections::BTreeSet,
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::{AsFd, OwnedFd},
};

use openoxide_protocol::{HostPort, NetworkAccess};
use rustix::{
    fs::{CWD, Mode, OFlags, openat},
    io::Errno,
    mount::{
        FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
        fsmount, fsopen, move_mount, open_tree,
    },
    net::{
        AddressFamily, SocketFlags, SocketType, bind, listen as start_listening, socket_with,
        sockopt,
    },
};

use crate::network::{address_pool, netlink::RouteSocket};

/// The port of DNS queries.
pub(super) const DNS_PORT: u16 = 53;
/// The addresses where programs expect a name server: that of a resolver on the machine, and the
/// default if no file names one (resolv.conf(5)).
const NAME_SERVERS: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 0, 0, 53), Ipv4Addr::LOCALHOST];
/// The content of `resolv.conf`, without a search list and with `ndots:0`. A name is used
/// unchanged, and no domain is appended first.
const RESOLV_CONF: &str = "nameserver 127.0.0.53\noptions ndots:0\n";
/// The first port that confined programs can listen on.
pub(crate) const FIRST_UNPRIVILEGED_PORT: u16 = 1024;
/// The ports of ssh, DNS, http and https. Confined programs cannot listen on these.
const COMMON_PORTS: [u16; 4] = [22, DNS_PORT, 80, 443];
/// The port of git, which is one of the ports with a listener if there are no notifications.
const GIT_PORT: u16 = 9418;
/// The first port of those that redirected connections lead to. The kernel assigns none of them,
/// and few programs listen there.
const FIRST_REDIRECT_PORT: u16 = 61_000;
/// The maximum number of ports of rules that have a listener from the start. The sockets are sent
/// to the supervisor in one message.
const MAX_RULE_PORTS: usize = 24;
/// The maximum number of connections that wait to be accepted.
const BACKLOG: i32 = 256;

/// Sets up the network of this namespace. `ask` is true if a reviewer can be asked about hosts that
/// no rule names.
///
/// The loopback works. If any host can be reached, every address becomes local, and the sockets for
/// the [`ConnectionBroker`](super::ConnectionBroker) are returned: the name service, and a listener
/// for every privileged port that is common or that a rule names. These sockets and those that the
/// supervisor requests later are the only way out of this namespace.
///
/// # Errors
/// Returns an error if the kernel refused a request. Anything that was set up until then disappears
/// with the namespace.
pub(crate) fn prepare(network: &NetworkAccess, ask: bool) -> io::Result<Vec<OwnedFd>> {
    if *network == NetworkAccess::On {
        return Ok(Vec::new());
    }
    let route = RouteSocket::open()?;
    route.set_loopback_up()?;
    if !has_other_hosts(network, ask) {
        return Ok(Vec::new());
    }
    make_addresses_local(&route)?;
    let mut sockets = Vec::new();
    for address in NAME_SERVERS {
        sockets.push(bind_socket(SocketType::DGRAM, SocketAddr::new(address.into(), DNS_PORT))?);
    }
    let named = named_ports(network).filter(|port| *port < FIRST_UNPRIVILEGED_PORT);
    sockets.extend(listen_on_ports(named.chain(COMMON_PORTS).collect())?);
    Ok(sockets)
}

/// Listens on the other ports that rules name, except for those that are left to programs inside
/// (`reserved`). This is needed if connections cause no notifications, because no listener can be
/// added then.
///
/// # Errors
/// Returns an error if the kernel refused a request.
pub(crate) fn listen_without_notifications(
    network: &NetworkAccess,
    ask: bool,
    reserved: &BTreeSet<u16>,
) -> io::Result<Vec<OwnedFd>> {
    if *network == NetworkAccess::On || !has_other_hosts(network, ask) {
        return Ok(Vec::new());
    }
    let named = named_ports(network).chain([GIT_PORT]);
    let named = named.filter(|port| *port >= FIRST_UNPRIVILEGED_PORT && !reserved.contains(port));
    listen_on_ports(named.collect())
}

/// Returns whether a program can connect to any host, or can wait for an answer about one.
fn has_other_hosts(network: &NetworkAccess, ask: bool) -> bool {
    match network {
        NetworkAccess::On | NetworkAccess::Internet => true,
        NetworkAccess::Off => ask,
        NetworkAccess::Hosts(hosts) => ask || !hosts.is_empty(),
    }
}

/// Returns the ports that rules name.
fn named_ports(network: &NetworkAccess) -> impl Iterator<Item = u16> {
    let hosts = match network {
        NetworkAccess::Hosts(hosts) => Some(hosts),
        _ => None,
    };
    hosts.into_iter().flatten().filter_map(HostPort::port).filter(|port| *port != 0)
}

/// Makes every address local to this machine. A machine without IPv6 gets only IPv4.
fn make_addresses_local(route: &RouteSocket) -> io::Result<()> {
    let (v4, v6) = address_pool::device_addresses();
    route.add_address(v4.into())?;
    route.add_local_route(v4.into())?;
    let other = route.add_address(v6.into()).and_then(|()| route.add_local_route(v6.into()));
    drop(other);
    Ok(())
}

fn listen_on_ports(ports: BTreeSet<u16>) -> io::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::new();
    for port in ports.into_iter().take(MAX_RULE_PORTS) {
        sockets.extend(listen(port)?);
    }
    Ok(sockets)
}

/// Listens on a port of all addresses of both families.
///
/// # Errors
/// Returns the error of the kernel. `AddrInUse` means that a confined program listens there.
pub(crate) fn listen(port: u16) -> io::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::new();
    for address in [IpAddr::from(Ipv4Addr::UNSPECIFIED), Ipv6Addr::UNSPECIFIED.into()] {
        match bind_socket(SocketType::STREAM, SocketAddr::new(address, port)) {
            Err(error) if address.is_ipv6() && is_ipv6_missing(&error) => {}
            socket => sockets.push(socket?),
        }
    }
    for socket in &sockets {
        start_listening(socket, BACKLOG)?;
    }
    Ok(sockets)
}

/// Listens at one address, on a port that programs rarely use. The supervisor connects the sockets
/// of programs to it in place of another port of this address, so that programs can listen there.
///
/// # Errors
/// Returns the error of the kernel.
pub(crate) fn listen_for_redirects(address: IpAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
        // Without it, the address must be one of a device.
        sockopt::set_ipv6_freebind(&socket, true)?;
    }
    for port in (FIRST_REDIRECT_PORT..=u16::MAX).rev() {
        match bind(&socket, &SocketAddr::new(address, port)) {
            Err(Errno::ADDRINUSE) => {}
            bound => {
                bound?;
                start_listening(&socket, BACKLOG)?;
                return Ok(socket);
            }
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// Opens sockets that can be connected to programs inside: one of each address family, if this
/// machine has it. They are non-blocking.
///
/// # Errors
/// Returns an error if there are no descriptors left.
pub(crate) fn open_unconnected_sockets() -> io::Result<Vec<OwnedFd>> {
    let mut sockets = Vec::new();
    for family in [AddressFamily::INET, AddressFamily::INET6] {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        match socket_with(family, SocketType::STREAM, flags, None) {
            Err(Errno::AFNOSUPPORT) => {}
            socket => sockets.push(socket?),
        }
    }
    Ok(sockets)
}

fn is_ipv6_missing(error: &io::Error) -> bool {
    let none = [Errno::AFNOSUPPORT, Errno::ADDRNOTAVAIL];
    none.iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()))
}

fn bind_socket(kind: SocketType, to: SocketAddr) -> io::Result<OwnedFd> {
    let family = if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
    if to.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    bind(&socket, &to)?;
    Ok(socket)
}

/// Returns whether a program may have this descriptor as its input or output. A socket of the
/// host's network is a way out of the new network, to any address. A Unix datagram socket can send
/// to any service.
pub(crate) fn is_allowed_stream(given: impl AsFd, network: &NetworkAccess) -> bool {
    let given = given.as_fd();
    match sockopt::socket_domain(given) {
        Err(error) => error == Errno::NOTSOCK,
        Ok(AddressFamily::UNIX) => sockopt::socket_type(given)
            .is_ok_and(|kind| matches!(kind, SocketType::STREAM | SocketType::SEQPACKET)),
        Ok(AddressFamily::INET | AddressFamily::INET6) => *network == NetworkAccess::On,
        Ok(_) => false,
    }
}

/// Mounts our own file over `/etc/resolv.conf` in this mount namespace, so that names are looked up
/// here regardless of the host's configuration. If the file does not exist, programs use this
/// resolver by default.
///
/// # Errors
/// Returns an error if the kernel refused a mount.
pub(crate) fn mount_resolv_conf() -> io::Result<()> {
    let target = match std::fs::canonicalize("/etc/resolv.conf") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        target => target?,
    };
    let context = fsopen("tmpfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let files = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())?;
    let flags = OFlags::CREATE | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = openat(&files, "resolv.conf", flags, Mode::from_raw_mode(0o444))?;
    rustix::io::write(&file, RESOLV_CONF.as_bytes())?;
    drop(file);
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    let one = open_tree(&files, "resolv.conf", flags)?;
    Ok(move_mount(&one, "", CWD, &target, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

#[cfg(test)]
mod tests {
    use std::{net, os::unix::net::UnixDatagram};

    use super::*;

    #[test]
    fn no_socket_of_the_host_is_given_to_a_program() {
        let off = NetworkAccess::Off;
        let (pair, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(is_allowed_stream(&pair, &off) && is_allowed_stream(&file, &off));
        assert!(!is_allowed_stream(UnixDatagram::unbound().unwrap(), &NetworkAccess::On));
        for v6 in [false, true] {
            let to = if v6 { "[::1]:0" } else { "127.0.0.1:0" };
            let Ok(listener) = net::TcpListener::bind(to) else { continue };
            let (tcp, udp) =
                (net::TcpStream::connect(listener.local_addr().unwrap()), net::UdpSocket::bind(to));
            assert!(
                !is_allowed_stream(tcp.as_ref().unwrap(), &off)
                    && !is_allowed_stream(udp.unwrap(), &off)
            );
            assert!(is_allowed_stream(tcp.unwrap(), &NetworkAccess::On));
        }
        assert!(!is_allowed_stream(RouteSocket::open().unwrap().0, &NetworkAccess::On));
    }
}
