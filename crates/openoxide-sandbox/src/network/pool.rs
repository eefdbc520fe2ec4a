//! Which address stands for which name inside.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    sync::{Mutex, PoisonError},
};

/// The ranges that are kept for measurements and lead nowhere (RFC 2544, RFC 5180): the first half of the one of version 4.
const V4: u32 = 0xc612_0000;
const V6: u128 = 0x2001_0002 << 96;
/// How many names one run may look up. A name keeps its address to the end: a second meaning would send a program that
/// remembers it elsewhere.
const MOST: u32 = 16_384;
/// The number of what the loopback device has itself; names have the numbers above.
const DEVICE: u32 = 1;

/// Names and what stands for them: one number each, which makes an address of either family.
#[derive(Default)]
pub(super) struct Pool(Mutex<Names>);

#[derive(Default)]
struct Names {
    numbers: BTreeMap<String, u32>,
    names: Vec<String>,
}

impl Pool {
    /// Returns the addresses of a name, new ones if it has none yet. None: there are too many names.
    pub(super) fn addresses(&self, name: &str) -> Option<(Ipv4Addr, Ipv6Addr)> {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let number = match names.numbers.get(name) {
            Some(number) => *number,
            None => names.add(name)?,
        };
        Some(numbered(number))
    }

    /// Returns the name that an address stands for.
    pub(super) fn name(&self, address: IpAddr) -> Option<String> {
        let index = number(address)?.checked_sub(DEVICE + 1)?;
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.names.get(usize::try_from(index).ok()?).cloned()
    }
}

impl Names {
    fn add(&mut self, name: &str) -> Option<u32> {
        let index = u32::try_from(self.names.len()).ok().filter(|index| *index < MOST)?;
        let number = DEVICE + 1 + index;
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        Some(number)
    }
}

/// Returns what the loopback device has beside its own addresses: programs ask for no address of a family that the machine
/// has none of (`AI_ADDRCONFIG`).
pub(super) fn device() -> (Ipv4Addr, Ipv6Addr) {
    numbered(DEVICE)
}

/// Says whether an address is one of ours: it stands for a name or for nothing, and never for itself.
pub(super) fn is_ours(address: IpAddr) -> bool {
    number(address).is_some()
}

fn numbered(number: u32) -> (Ipv4Addr, Ipv6Addr) {
    (Ipv4Addr::from_bits(V4 | number), Ipv6Addr::from_bits(V6 | u128::from(number)))
}

fn number(address: IpAddr) -> Option<u32> {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let number = address.to_bits() ^ V4;
            (number <= 0xffff).then_some(number)
        }
        IpAddr::V6(address) => u32::try_from(address.to_bits() ^ V6).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_address_of_each_family_and_they_mean_it() {
        let pool = Pool::default();
        let (v4, v6) = pool.addresses("example.org").unwrap();
        assert_ne!(pool.addresses("example.com").unwrap(), (v4, v6));
        assert_eq!(pool.addresses("example.org").unwrap(), (v4, v6));
        for address in [IpAddr::from(v4), v6.into(), v4.to_ipv6_mapped().into()] {
            assert_eq!(pool.name(address).as_deref(), Some("example.org"), "{address}");
        }
        // RFC 2544 §C.2.2 and RFC 5180 §8.
        assert!(v4.octets().starts_with(&[198, 18]), "{v4}");
        assert!(v6.to_string().starts_with("2001:2::"), "{v6}");
    }

    #[test]
    fn an_address_that_was_not_given_means_no_name() {
        let pool = Pool::default();
        pool.addresses("example.org");
        for address in ["198.18.0.0", "198.18.0.1", "198.18.0.3", "198.18.255.255", "2001:2::ffff"]
        {
            let address = address.parse().unwrap();
            assert_eq!((pool.name(address), is_ours(address)), (None, true), "{address}");
        }
        for address in ["93.184.216.34", "198.19.0.2", "::2", "2001:2:0:1::2"] {
            let address = address.parse().unwrap();
            assert_eq!((pool.name(address), is_ours(address)), (None, false), "{address}");
        }
    }

    #[test]
    fn a_flood_of_names_ends_and_the_first_keep_their_meaning() {
        let pool = Pool::default();
        let (first, _) = pool.addresses("n0").unwrap();
        let given = (1..20_000).filter(|n| pool.addresses(&format!("n{n}")).is_some()).count();
        assert_eq!(given, 16_383);
        assert_eq!(pool.name(first.into()).as_deref(), Some("n0"));
        assert!(pool.addresses("n0").is_some());
    }
}
