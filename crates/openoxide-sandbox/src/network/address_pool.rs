//! The assignment of addresses to names inside the sandbox.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Mutex, PoisonError},
};

/// The ranges that are reserved for benchmarks and not routed (RFC 2544, RFC 5180). Of the IPv4
/// range, only the first half is used.
const IPV4_PREFIX: u32 = 0xc612_0000;
const IPV6_PREFIX: u128 = 0x2001_0002 << 96;
/// The maximum number of names that one run may look up. A name keeps its address until the run
/// ends. If an address were reused, a program that remembers it would reach another host.
const MAX_NAMES: u32 = 16_384;
/// The number of the loopback device's own addresses. Names have larger numbers.
const DEVICE_NUMBER: u32 = 1;

/// Names and their numbers. Each number determines an address of either family.
#[derive(Default)]
pub(super) struct AddressPool(Mutex<NameTable>);

#[derive(Default)]
struct NameTable {
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl AddressPool {
    /// Returns the addresses of a name, and assigns new ones if it has none yet. Returns `None` if
    /// there are too many names.
    pub(super) fn assign_addresses(&self, name: &str) -> Option<(Ipv4Addr, Ipv6Addr)> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match names.numbers.get(name) {
            Some(number) => *number,
            None => names.insert(name)?,
        };
        Some(addresses_from_number(number))
    }

    /// Returns the name that an address represents.
    pub(super) fn lookup_name(&self, address: IpAddr) -> Option<String> {
        let index = number_from_address(address)?.checked_sub(DEVICE_NUMBER + 1)?;
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.names.get(usize::try_from(index).ok()?).cloned()
    }
}

impl NameTable {
    fn insert(&mut self, name: &str) -> Option<u32> {
        let index = u32::try_from(self.names.len()).ok().filter(|index| *index < MAX_NAMES)?;
        let number = DEVICE_NUMBER + 1 + index;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }
}

/// Returns the additional addresses of the loopback device. Programs do not request addresses of a
/// family that the machine does not have (`AI_ADDRCONFIG`).
pub(super) fn device_addresses() -> (Ipv4Addr, Ipv6Addr) {
    addresses_from_number(DEVICE_NUMBER)
}

/// Returns whether an address is one of the sandbox itself: of the loopback, or of its device.
pub(crate) fn is_own_address(address: IpAddr) -> bool {
    address.to_canonical().is_loopback() || number_from_address(address) == Some(DEVICE_NUMBER)
}

/// Returns whether an address belongs to the pool. Such an address represents a name or nothing,
/// and is never a target itself.
pub(super) fn is_pool_address(address: IpAddr) -> bool {
    number_from_address(address).is_some()
}

fn addresses_from_number(number: u32) -> (Ipv4Addr, Ipv6Addr) {
    (
        Ipv4Addr::from_bits(IPV4_PREFIX | number),
        Ipv6Addr::from_bits(IPV6_PREFIX | u128::from(number)),
    )
}

fn number_from_address(address: IpAddr) -> Option<u32> {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let number = address.to_bits() ^ IPV4_PREFIX;
            (number <= 0xffff).then_some(number)
        }
        IpAddr::V6(address) => u32::try_from(address.to_bits() ^ IPV6_PREFIX).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_address_of_each_family_and_they_mean_it() {
        let pool = AddressPool::default();
        let (v4, v6) = pool.assign_addresses("example.org").unwrap();
        assert_ne!(pool.assign_addresses("example.com").unwrap(), (v4, v6));
        assert_eq!(pool.assign_addresses("example.org").unwrap(), (v4, v6));
        for address in [IpAddr::from(v4), v6.into(), v4.to_ipv6_mapped().into()] {
            assert_eq!(pool.lookup_name(address).as_deref(), Some("example.org"), "{address}");
        }
        // RFC 2544 §C.2.2 and RFC 5180 §8.
        assert!(v4.octets().starts_with(&[198, 18]), "{v4}");
        assert!(v6.to_string().starts_with("2001:2::"), "{v6}");
    }

    #[test]
    fn an_address_that_was_not_given_means_no_name() {
        let pool = AddressPool::default();
        pool.assign_addresses("example.org");
        for address in ["198.18.0.0", "198.18.0.1", "198.18.0.3", "198.18.255.255", "2001:2::ffff"]
        {
            let address = address.parse().unwrap();
            assert_eq!(
                (pool.lookup_name(address), is_pool_address(address)),
                (None, true),
                "{address}"
            );
        }
        for address in ["93.184.216.34", "198.19.0.2", "::2", "2001:2:0:1::2"] {
            let address = address.parse().unwrap();
            assert_eq!(
                (pool.lookup_name(address), is_pool_address(address)),
                (None, false),
                "{address}"
            );
        }
    }

    #[test]
    fn a_flood_of_names_ends_and_the_first_keep_their_meaning() {
        let pool = AddressPool::default();
        let (first, _) = pool.assign_addresses("n0").unwrap();
        let given =
            (1..20_000).filter(|n| pool.assign_addresses(&format!("n{n}")).is_some()).count();
        assert_eq!(given, 16_383);
        assert_eq!(pool.lookup_name(first.into()).as_deref(), Some("n0"));
        assert!(pool.assign_addresses("n0").is_some());
    }
}
