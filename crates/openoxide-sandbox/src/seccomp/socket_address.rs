//! The address in a call, parsed from a copy.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

use rustix::io::Errno;

/// The maximum length of a supported address: `struct sockaddr_un`.
pub(crate) const MAX_ADDRESS_LEN: usize = 110;

const UNSPECIFIED: u16 = 0;
const UNIX: u16 = 1;
const INET: u16 = 2;
const INET6: u16 = 10;

/// The address that a call wants to connect to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum SocketAddress {
    /// No address: the socket is disconnected.
    Unspecified,
    Internet(SocketAddr),
    /// A socket in the file system.
    UnixPath(Vec<u8>),
    /// A socket with a name in its network namespace.
    UnixAbstract(Vec<u8>),
}

impl SocketAddress {
    /// Parses an address as the kernel does (`struct sockaddr`).
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, Errno> {
        let invalid = Errno::INVAL;
        match u16::from_ne_bytes(read_array(bytes, 0).ok_or(invalid)?) {
            UNSPECIFIED => Ok(Self::Unspecified),
            UNIX => parse_unix(bytes.get(2..).unwrap_or_default()).ok_or(invalid),
            INET => parse_inet(bytes).map(Self::Internet).ok_or(invalid),
            INET6 => parse_inet6(bytes).map(Self::Internet).ok_or(invalid),
            _ => Err(Errno::AFNOSUPPORT),
        }
    }
}

fn parse_unix(name: &[u8]) -> Option<SocketAddress> {
    let (first, rest) = name.split_first()?;
    if *first == 0 {
        return Some(SocketAddress::UnixAbstract(rest.to_vec()));
    }
    Some(SocketAddress::UnixPath(name.iter().copied().take_while(|byte| *byte != 0).collect()))
}

fn parse_inet(bytes: &[u8]) -> Option<SocketAddr> {
    read_array::<16>(bytes, 0)?;
    let address = Ipv4Addr::from(read_array::<4>(bytes, 4)?);
    Some(SocketAddr::new(address.into(), u16::from_be_bytes(read_array(bytes, 2)?)))
}

fn parse_inet6(bytes: &[u8]) -> Option<SocketAddr> {
    let port = u16::from_be_bytes(read_array(bytes, 2)?);
    let address = Ipv6Addr::from(read_array::<16>(bytes, 8)?);
    // The scope ID may be missing (RFC 2133). The flow information stays in network byte order.
    let scope = read_array(bytes, 24).map_or(0, u32::from_ne_bytes);
    let flow = u32::from_ne_bytes(read_array(bytes, 4)?);
    Some(SocketAddrV6::new(address, port, flow, scope).into())
}

fn read_array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(family: u16, rest: &[u8]) -> Result<SocketAddress, Errno> {
        SocketAddress::parse(&[&family.to_ne_bytes(), rest].concat())
    }

    /// Layouts from unix(7), ip(7) and ipv6(7).
    #[test]
    fn addresses_are_read_as_the_kernel_reads_them() {
        let v4 = read(2, b"\x01\xbb\x5d\xb8\xd8\x22\0\0\0\0\0\0\0\0");
        assert_eq!(v4, Ok(SocketAddress::Internet("93.184.216.34:443".parse().unwrap())));
        let mut v6 = b"\x00\x50\0\0\0\0\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01".to_vec();
        let at = |scope| {
            let address = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1);
            Ok(SocketAddress::Internet(SocketAddrV6::new(address, 80, 0, scope).into()))
        };
        assert_eq!(read(10, &v6), at(0));
        v6.extend(7_u32.to_ne_bytes());
        assert_eq!(read(10, &v6), at(7));
        assert_eq!(read(1, b"/run/x\0rest"), Ok(SocketAddress::UnixPath(b"/run/x".to_vec())));
        assert_eq!(read(1, b"relative"), Ok(SocketAddress::UnixPath(b"relative".to_vec())));
        assert_eq!(read(1, b"\0a\0b"), Ok(SocketAddress::UnixAbstract(b"a\0b".to_vec())));
        assert_eq!(read(0, b""), Ok(SocketAddress::Unspecified));
    }

    #[test]
    fn malformed_addresses_are_invalid() {
        assert_eq!(SocketAddress::parse(b""), Err(Errno::INVAL));
        assert_eq!(SocketAddress::parse(b"\x02"), Err(Errno::INVAL));
        assert_eq!(read(1, b""), Err(Errno::INVAL));
        assert_eq!(read(2, b"\x01\xbb\x5d\xb8\xd8\x22"), Err(Errno::INVAL));
        assert_eq!(read(10, &[0; 21]), Err(Errno::INVAL));
        assert_eq!(read(40, &[0; 14]), Err(Errno::AFNOSUPPORT));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(family in 0_u16..12, rest in prop::collection::vec(any::<u8>(), 0..MAX_ADDRESS_LEN)) {
            match read(family, &rest) {
                Ok(SocketAddress::UnixPath(path)) => prop_assert!(family == 1 && !path.contains(&0) && !path.is_empty()),
                Ok(SocketAddress::UnixAbstract(_)) => prop_assert!(family == 1 && rest.first() == Some(&0)),
                Ok(SocketAddress::Internet(to)) => prop_assert_eq!(family == 10, to.is_ipv6()),
                Ok(SocketAddress::Unspecified) => prop_assert_eq!(family, 0),
                Err(_) => {}
            }
        }
    }
}
