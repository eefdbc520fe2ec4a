//! Messages to the kernel about the network (netlink(7), rtnetlink(7)), as `ip` sends them.

use std::{io, net::IpAddr, os::fd::OwnedFd};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

const NEW_LINK: u16 = 16;
const NEW_ADDRESS: u16 = 20;
const NEW_ROUTE: u16 = 24;
const ERROR: u16 = 2;
/// The flags of a request that creates something and must be acknowledged.
const REQUEST: u16 = 0x405;
/// The loopback is the first device of every network namespace.
const LOOPBACK: u32 = 1;

/// A netlink socket for the network namespace in which it was opened.
pub(super) struct RouteSocket(pub(super) OwnedFd);

impl RouteSocket {
    pub(super) fn open() -> io::Result<Self> {
        // NETLINK_ROUTE is the default protocol of the family, so no number is given.
        let family = AddressFamily::NETLINK;
        Ok(Self(socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, None)?))
    }

    /// `ip link set lo up`
    pub(super) fn set_loopback_up(&self) -> io::Result<()> {
        const UP: u32 = 1;
        self.send_request(NEW_LINK, &[0, LOOPBACK, UP, UP].map(u32::to_ne_bytes).concat())
    }

    /// `ip address add ADDRESS dev lo`
    pub(super) fn add_address(&self, address: IpAddr) -> io::Result<()> {
        const LOCAL: u16 = 2;
        const ADDRESS: u16 = 1;
        let bits = if address.is_ipv4() { 32 } else { 128 };
        let mut body = vec![address_family(address), bits, 0, 0];
        body.extend(LOOPBACK.to_ne_bytes());
        for kind in [LOCAL, ADDRESS] {
            body.extend(build_attribute(kind, &address_octets(address)));
        }
        self.send_request(NEW_ADDRESS, &body)
    }

    /// `ip route add local 0.0.0.0/0 dev lo`, or `::/0`: makes every address of the same family as
    /// `like` local to this machine.
    pub(super) fn add_local_route(&self, like: IpAddr) -> io::Result<()> {
        const TABLE_LOCAL: u8 = 255;
        const STATIC: u8 = 4;
        const SCOPE_HOST: u8 = 254;
        const LOCAL: u8 = 2;
        const DEVICE: u16 = 4;
        let mut body = vec![address_family(like), 0, 0, 0, TABLE_LOCAL, STATIC, SCOPE_HOST, LOCAL];
        body.extend([0; 4]);
        body.extend(build_attribute(DEVICE, &LOOPBACK.to_ne_bytes()));
        self.send_request(NEW_ROUTE, &body)
    }

    /// Sends one request and waits for the acknowledgement.
    fn send_request(&self, kind: u16, body: &[u8]) -> io::Result<()> {
        send(&self.0, &build_message(kind, REQUEST, 0, body), SendFlags::empty())?;
        let mut answer = [0; 4096];
        let (length, _) = recv(&self.0, answer.as_mut_slice(), RecvFlags::empty())?;
        match answer.get(..length).and_then(parse_error) {
            Some(0) => Ok(()),
            Some(number) => Err(io::Error::from_raw_os_error(-number)),
            None => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// Returns a message: the header (`struct nlmsghdr`), with a sequence number that answers repeat,
/// and the body.
pub(crate) fn build_message(kind: u16, flags: u16, number: u32, body: &[u8]) -> Vec<u8> {
    const HEADER: u32 = 16;
    let length = HEADER + u32::try_from(body.len()).unwrap_or_default();
    let mut message = length.to_ne_bytes().to_vec();
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend(number.to_ne_bytes());
    message.extend([0; 4]);
    message.extend(body);
    message
}

/// Returns the error number of an answer. 0 means success.
fn parse_error(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let number = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (kind == ERROR).then_some(number)
}

/// Builds a `struct rtattr`. The length of `value` is a multiple of four bytes.
fn build_attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let length = u16::try_from(4 + value.len()).unwrap_or_default();
    [&length.to_ne_bytes(), &kind.to_ne_bytes(), value].concat()
}

const fn address_family(address: IpAddr) -> u8 {
    if address.is_ipv4() { 2 } else { 10 }
}

fn address_octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}
