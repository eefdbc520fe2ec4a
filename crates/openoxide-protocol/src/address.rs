//! Classification of addresses as public or as addresses of this machine and its networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns whether an address is public: globally reachable according to the registries of
/// special-purpose addresses (IANA, RFC 6890). An IPv6 address that embeds an IPv4 address is
/// classified as that IPv4 address.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match canonical_address(address) {
        IpAddr::V4(address) => !is_in_v4_ranges(address, SPECIAL_V4),
        // Only 2000::/3 has been allocated.
        IpAddr::V6(address) => {
            is_in_v6_ranges(address, &[(0x2000, 0, 3)]) && !is_in_v6_ranges(address, SPECIAL_V6)
        }
    }
}

/// Returns whether an address that is not public may be offered to a person for approval.
///
/// This applies to addresses of private networks, which people use on purpose. Loopback, link-local
/// (including the metadata services of clouds), multicast and reserved addresses are never offered.
#[must_use]
pub fn is_private(address: IpAddr) -> bool {
    match canonical_address(address) {
        IpAddr::V4(address) => is_in_v4_ranges(address, PRIVATE_V4) && address != METADATA_V4,
        IpAddr::V6(address) => {
            is_in_v6_ranges(address, &[(0xfc00, 0, 7)]) && address != METADATA_V6
        }
    }
}

/// Returns the IPv4 address that an IPv6 address embeds: mapped (RFC 4291), NAT64 (RFC 6052), 6to4
/// (RFC 3056).
#[must_use]
pub fn canonical_address(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let [a, b, c, d, e, f, g, h] = v6.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => v4(g, h).into(),
        [0x2002, ..] => v4(b, c).into(),
        _ => address,
    }
}

/// The addresses within the private ranges of the metadata services that 169.254.169.254 offers.
const METADATA_V4: Ipv4Addr = Ipv4Addr::new(100, 100, 100, 200);
const METADATA_V6: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);

/// The private networks. The networks for documentation (RFC 5737) are never routed on the internet,
/// so a machine that reaches them uses them as a private network, for example for a mirror.
const PRIVATE_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
];

/// The addresses in the IANA IPv4 Special-Purpose Address Registry that are not globally reachable,
/// and the multicast and reserved ranges.
const SPECIAL_V4: &[(Ipv4Addr, u32)] = &[
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

/// The part of the IANA IPv6 Special-Purpose Address Registry within 2000::/3 that is not globally
/// reachable: protocols (including Teredo, which embeds an IPv4 address) and documentation.
const SPECIAL_V6: &[(u16, u16, u32)] =
    &[(0x2001, 0, 23), (0x2001, 0xdb8, 32), (0x3ffe, 0, 16), (0x3fff, 0, 20)];

fn is_in_v4_ranges(address: Ipv4Addr, ranges: &[(Ipv4Addr, u32)]) -> bool {
    ranges.iter().any(|(of, bits)| (address.to_bits() ^ of.to_bits()) >> (32 - bits) == 0)
}

fn is_in_v6_ranges(address: Ipv6Addr, ranges: &[(u16, u16, u32)]) -> bool {
    let [high, low, ..] = address.segments();
    let join = |high: u16, low: u16| u32::from(high) << 16 | u32::from(low);
    ranges.iter().any(|(a, b, bits)| (join(high, low) ^ join(*a, *b)) >> (32 - bits) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(addresses: &str) -> impl Iterator<Item = IpAddr> {
        addresses.split_whitespace().map(|address| address.parse().expect(address))
    }

    /// Rows from IANA's registries of special-purpose addresses and the metadata services of
    /// clouds.
    #[test]
    fn this_machine_and_its_neighbours_are_not_public() {
        let special = "0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.127.255.255 100.100.100.200 127.0.0.1 127.8.8.8 \
            169.254.169.254 169.254.0.1 172.16.0.1 172.31.255.255 192.0.0.192 192.0.2.1 192.168.1.1 198.18.0.2 \
            198.19.255.255 198.51.100.1 203.0.113.9 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 \
            :: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 64:ff9b::127.0.0.1 \
            64:ff9b::a9fe:a9fe 64:ff9b:1::808:808 2002:7f00:1:: 2002:a9fe:a9fe::1 2002:c0a8:101::5 100::1 \
            2001::1 2001:2::5 2001:db8::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1 febf::1 fec0::1 ff02::1 4000::1 5f00::1";
        for address in all(special) {
            assert!(!is_public(address), "{address}");
        }
    }

    #[test]
    fn hosts_of_the_internet_are_public() {
        let hosts = "1.1.1.1 8.8.8.8 93.184.216.34 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1 192.167.0.1 198.17.0.1 \
            198.20.0.1 223.255.255.255 2606:4700::1111 2a00:1450::1 2001:4860:4860::8888 64:ff9b::8.8.8.8 2002:808:808::1 \
            ::ffff:8.8.8.8";
        for address in all(hosts) {
            assert!(is_public(address), "{address}");
            assert!(!is_private(address), "{address}");
        }
    }

    #[test]
    fn a_person_is_asked_about_private_networks_alone() {
        for address in
            all("10.1.2.3 172.20.0.1 192.168.1.1 100.64.0.1 203.0.113.80 fd12::1 ::ffff:10.0.0.1")
        {
            assert!(is_private(address), "{address}");
        }
        let never = "127.0.0.1 ::1 169.254.169.254 fe80::1 fd00:ec2::254 100.100.100.200 224.0.0.1 255.255.255.255 0.0.0.0 :: \
            ::ffff:127.0.0.1 64:ff9b::a9fe:a9fe";
        for address in all(never) {
            assert!(!is_private(address), "{address}");
        }
    }
}
