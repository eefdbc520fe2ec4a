//! The target of a connection inside, and the verdict on it.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use openoxide_protocol::{
    NetworkAccess,
    address::{canonical_address, is_private, is_public},
};

use crate::network::address_pool::{self, AddressPool};

/// The target of a connection.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionTarget {
    /// A host by the name that was looked up.
    Name(String),
    /// An address that was not looked up by name. It is checked as an address.
    Address(IpAddr),
}

/// The verdict on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ConnectionVerdict {
    /// The connection is made.
    Allowed(ConnectionTarget),
    /// A person decides.
    NeedsReview(ConnectionTarget),
    /// The connection is refused, and the report mentions it.
    Refused(ConnectionTarget),
    /// The connection was meant for the confined processes' own machine, where no program listens.
    NoListener,
}

/// Returns the verdict on a connection, from the address that it was made to.
pub(super) fn judge_connection(
    network: &NetworkAccess,
    pool: &AddressPool,
    to: SocketAddr,
) -> ConnectionVerdict {
    let address = canonical_address(to.ip());
    if address_pool::is_pool_address(address) {
        return pool
            .lookup_name(address)
            .map_or(ConnectionVerdict::NoListener, |name| judge_name(network, name, to.port()));
    }
    let host = ConnectionTarget::Address(address);
    match address {
        _ if has_address_rule(network, address, to.port()) => ConnectionVerdict::Allowed(host),
        _ if address.is_loopback() || address.is_unspecified() => ConnectionVerdict::NoListener,
        _ if *network == NetworkAccess::Internet && is_public(address) => {
            ConnectionVerdict::Allowed(host)
        }
        _ if is_public(address) || is_private(address) => ConnectionVerdict::NeedsReview(host),
        _ => ConnectionVerdict::Refused(host),
    }
}

fn judge_name(network: &NetworkAccess, name: String, port: u16) -> ConnectionVerdict {
    if network.allows(&name, port) {
        ConnectionVerdict::Allowed(ConnectionTarget::Name(name))
    } else {
        ConnectionVerdict::NeedsReview(ConnectionTarget::Name(name))
    }
}

/// Returns whether a rule names exactly this address. `localhost` is every address of the loopback
/// (RFC 6761 §6.3).
pub(super) fn has_address_rule(network: &NetworkAccess, address: IpAddr, port: u16) -> bool {
    let NetworkAccess::Hosts(hosts) = network else { return false };
    let address = canonical_address(address);
    let is = |text: &str| match text.parse::<IpAddr>() {
        Ok(named) => canonical_address(named) == address,
        Err(_) => text == "localhost" && address.is_loopback(),
    };
    hosts.iter().any(|rule| rule.port().is_none_or(|own| own == port) && is(rule.host()))
}

impl fmt::Display for ConnectionTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(rules: &str) -> NetworkAccess {
        NetworkAccess::Hosts(rules.split_whitespace().map(|rule| rule.parse().unwrap()).collect())
    }

    fn of(rules: &str, to: &str) -> ConnectionVerdict {
        judge_connection(&hosts(rules), &AddressPool::default(), to.parse().expect(to))
    }

    fn bare(address: &str) -> ConnectionTarget {
        ConnectionTarget::Address(address.parse().unwrap())
    }

    #[test]
    fn a_connection_is_checked_by_the_name_that_was_looked_up() {
        let pool = AddressPool::default();
        let (v4, v6) = pool.assign_addresses("api.example.org").unwrap();
        let network = hosts("*.example.org:443");
        let name = || ConnectionTarget::Name("api.example.org".to_owned());
        for address in [IpAddr::from(v4), v6.into(), v4.to_ipv6_mapped().into()] {
            let to = |port| judge_connection(&network, &pool, SocketAddr::new(address, port));
            assert_eq!(to(443), ConnectionVerdict::Allowed(name()));
            assert_eq!(to(80), ConnectionVerdict::NeedsReview(name()));
        }
    }

    #[test]
    fn a_bare_address_is_reached_by_a_rule_that_is_that_address() {
        assert_eq!(
            of("93.184.216.34", "93.184.216.34:443"),
            ConnectionVerdict::Allowed(bare("93.184.216.34"))
        );
        assert_eq!(
            of("127.0.0.1:5432", "127.0.0.1:5432"),
            ConnectionVerdict::Allowed(bare("127.0.0.1"))
        );
        assert_eq!(
            of("2606:4700::1111", "[2606:4700:0::1111]:443"),
            ConnectionVerdict::Allowed(bare("2606:4700::1111"))
        );
        assert_eq!(
            of("10.0.0.1", "[::ffff:10.0.0.1]:1"),
            ConnectionVerdict::Allowed(bare("10.0.0.1"))
        );
        for (rules, to) in [
            ("93.184.216.34:80", "93.184.216.34:443"),
            ("example.org", "93.184.216.34:443"),
            ("", "192.168.1.1:443"),
        ] {
            assert!(
                matches!(
                    of(rules, to),
                    ConnectionVerdict::NeedsReview(ConnectionTarget::Address(_))
                ),
                "{rules} {to}"
            );
        }
    }

    #[test]
    fn special_addresses_are_refused_without_a_review() {
        let refused = "169.254.169.254:80 [fe80::1]:80 [fd00:ec2::254]:80 224.0.0.1:80 255.255.255.255:80 \
            [64:ff9b::a9fe:a9fe]:80 [2002:a9fe:a9fe::]:80 198.19.0.1:80";
        for to in refused.split_whitespace() {
            assert!(matches!(of("", to), ConnectionVerdict::Refused(_)), "{to}");
        }
    }

    #[test]
    fn localhost_is_the_loopback_of_both_families() {
        for to in ["127.0.0.1:8080", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
            assert!(matches!(of("localhost:8080", to), ConnectionVerdict::Allowed(_)), "{to}");
            assert_eq!(of("localhost:8081", to), ConnectionVerdict::NoListener, "{to}");
        }
        assert!(matches!(of("localhost", "10.0.0.1:80"), ConnectionVerdict::NeedsReview(_)));
    }

    #[test]
    fn the_internet_is_every_name_and_every_public_address() {
        let (network, pool) = (NetworkAccess::Internet, AddressPool::default());
        let (v4, v6) = pool.assign_addresses("example.org").unwrap();
        for address in [IpAddr::from(v4), v6.into()] {
            let judged = judge_connection(&network, &pool, SocketAddr::new(address, 443));
            assert_eq!(
                judged,
                ConnectionVerdict::Allowed(ConnectionTarget::Name("example.org".to_owned()))
            );
        }
        let judged = |to: &str| judge_connection(&network, &pool, to.parse().expect(to));
        for to in [
            "93.184.216.34:443",
            "[2606:4700::1111]:443",
            "[64:ff9b::8.8.8.8]:53",
            "[::ffff:8.8.8.8]:53",
        ] {
            assert!(
                matches!(judged(to), ConnectionVerdict::Allowed(ConnectionTarget::Address(_))),
                "{to}"
            );
        }
        // Metadata services, the machine itself and its neighbours, in every spelling.
        let elsewhere = "169.254.169.254:80 [::ffff:169.254.169.254]:80 [64:ff9b::169.254.169.254]:80 \
            [64:ff9b:1::a9fe:a9fe]:80 [2002:a9fe:a9fe::1]:80 [2001:0:a9fe:a9fe::1]:80 [fd00:ec2::254]:80 \
            [fec0::1]:80 [fe80::1]:80 [::a9fe:a9fe]:80 100.100.100.200:80 192.0.0.192:80 10.0.0.1:80 \
            192.168.1.1:22 172.16.0.1:80 100.64.0.1:80 [fc00::1]:80 224.0.0.1:80 [ff02::1]:80 \
            255.255.255.255:80 127.0.0.1:80 [::1]:80 0.0.0.0:80 [::]:80 [64:ff9b::127.0.0.1]:80 [2002:7f00:1::]:80";
        for to in elsewhere.split_whitespace() {
            assert!(!matches!(judged(to), ConnectionVerdict::Allowed(_)), "{to}");
        }
    }

    #[test]
    fn its_own_loopback_is_its_own() {
        for to in "127.0.0.1:80 127.1.2.3:80 0.0.0.0:80 [::1]:80 [::]:80 [::ffff:127.0.0.1]:80 198.18.0.9:80".split_whitespace() {
            assert_eq!(of("*.example.org", to), ConnectionVerdict::NoListener, "{to}");
        }
    }
}
