//! What a connection inside is meant for, and whether it is made outside.

use std::{
    fmt,
    net::{IpAddr, SocketAddr},
};

use openoxide_protocol::{
    Network,
    address::{is_private, is_public, plain},
};

use super::pool::{self, Pool};

/// Whom a connection is meant for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Host {
    /// The host of a name that was looked up.
    Named(String),
    /// An address that nobody looked up: judged as itself.
    Bare(IpAddr),
}

/// What becomes of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is made.
    Reached(Host),
    /// A person decides.
    Unknown(Host),
    /// It is refused, and that is said in the report.
    Refused(Host),
    /// It was meant for the confined processes' own machine, where nobody listens.
    Nobody,
}

/// Judges a connection by the address that it was made to.
pub(super) fn judge(network: &Network, pool: &Pool, to: SocketAddr) -> Verdict {
    let address = plain(to.ip());
    if pool::is_ours(address) {
        return pool.name(address).map_or(Verdict::Nobody, |name| named(network, name, to.port()));
    }
    let host = Host::Bare(address);
    match address {
        _ if names_literally(network, address, to.port()) => Verdict::Reached(host),
        _ if address.is_loopback() || address.is_unspecified() => Verdict::Nobody,
        _ if *network == Network::Internet && is_public(address) => Verdict::Reached(host),
        _ if is_public(address) || is_private(address) => Verdict::Unknown(host),
        _ => Verdict::Refused(host),
    }
}

fn named(network: &Network, name: String, port: u16) -> Verdict {
    if network.reaches(&name, port) {
        Verdict::Reached(Host::Named(name))
    } else {
        Verdict::Unknown(Host::Named(name))
    }
}

/// Says whether a rule is this very address. `localhost` is every address of the loopback (RFC 6761 §6.3).
pub(super) fn names_literally(network: &Network, address: IpAddr, port: u16) -> bool {
    let Network::Hosts(hosts) = network else { return false };
    let address = plain(address);
    let is = |text: &str| match text.parse::<IpAddr>() {
        Ok(named) => plain(named) == address,
        Err(_) => text == "localhost" && address.is_loopback(),
    };
    hosts.iter().any(|rule| rule.port().is_none_or(|own| own == port) && is(rule.host()))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Bare(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(rules: &str) -> Network {
        Network::Hosts(rules.split_whitespace().map(|rule| rule.parse().unwrap()).collect())
    }

    fn of(rules: &str, to: &str) -> Verdict {
        judge(&hosts(rules), &Pool::default(), to.parse().expect(to))
    }

    fn bare(address: &str) -> Host {
        Host::Bare(address.parse().unwrap())
    }

    #[test]
    fn a_name_is_judged_by_the_name_that_was_looked_up() {
        let pool = Pool::default();
        let (v4, v6) = pool.addresses("api.example.org").unwrap();
        let network = hosts("*.example.org:443");
        let name = || Host::Named("api.example.org".to_owned());
        for address in [IpAddr::from(v4), v6.into(), v4.to_ipv6_mapped().into()] {
            let to = |port| judge(&network, &pool, SocketAddr::new(address, port));
            assert_eq!(to(443), Verdict::Reached(name()));
            assert_eq!(to(80), Verdict::Unknown(name()));
        }
    }

    #[test]
    fn a_bare_address_is_reached_by_a_rule_that_is_that_address() {
        assert_eq!(
            of("93.184.216.34", "93.184.216.34:443"),
            Verdict::Reached(bare("93.184.216.34"))
        );
        assert_eq!(of("127.0.0.1:5432", "127.0.0.1:5432"), Verdict::Reached(bare("127.0.0.1")));
        assert_eq!(
            of("2606:4700::1111", "[2606:4700:0::1111]:443"),
            Verdict::Reached(bare("2606:4700::1111"))
        );
        assert_eq!(of("10.0.0.1", "[::ffff:10.0.0.1]:1"), Verdict::Reached(bare("10.0.0.1")));
        for (rules, to) in [
            ("93.184.216.34:80", "93.184.216.34:443"),
            ("example.org", "93.184.216.34:443"),
            ("", "192.168.1.1:443"),
        ] {
            assert!(matches!(of(rules, to), Verdict::Unknown(Host::Bare(_))), "{rules} {to}");
        }
    }

    #[test]
    fn what_nobody_means_is_refused_without_a_question() {
        let refused = "169.254.169.254:80 [fe80::1]:80 [fd00:ec2::254]:80 224.0.0.1:80 255.255.255.255:80 \
            [64:ff9b::a9fe:a9fe]:80 [2002:a9fe:a9fe::]:80 198.19.0.1:80";
        for to in refused.split_whitespace() {
            assert!(matches!(of("", to), Verdict::Refused(_)), "{to}");
        }
    }

    #[test]
    fn localhost_is_the_loopback_of_both_families() {
        for to in ["127.0.0.1:8080", "[::1]:8080", "[::ffff:127.0.0.1]:8080"] {
            assert!(matches!(of("localhost:8080", to), Verdict::Reached(_)), "{to}");
            assert_eq!(of("localhost:8081", to), Verdict::Nobody, "{to}");
        }
        assert!(matches!(of("localhost", "10.0.0.1:80"), Verdict::Unknown(_)));
    }

    #[test]
    fn the_internet_is_every_name_and_every_public_address() {
        let (network, pool) = (Network::Internet, Pool::default());
        let (v4, v6) = pool.addresses("example.org").unwrap();
        for address in [IpAddr::from(v4), v6.into()] {
            let judged = judge(&network, &pool, SocketAddr::new(address, 443));
            assert_eq!(judged, Verdict::Reached(Host::Named("example.org".to_owned())));
        }
        let judged = |to: &str| judge(&network, &pool, to.parse().expect(to));
        for to in [
            "93.184.216.34:443",
            "[2606:4700::1111]:443",
            "[64:ff9b::8.8.8.8]:53",
            "[::ffff:8.8.8.8]:53",
        ] {
            assert!(matches!(judged(to), Verdict::Reached(Host::Bare(_))), "{to}");
        }
        // Metadata services, the machine itself and its neighbours, in every spelling.
        let elsewhere = "169.254.169.254:80 [::ffff:169.254.169.254]:80 [64:ff9b::169.254.169.254]:80 \
            [64:ff9b:1::a9fe:a9fe]:80 [2002:a9fe:a9fe::1]:80 [2001:0:a9fe:a9fe::1]:80 [fd00:ec2::254]:80 \
            [fec0::1]:80 [fe80::1]:80 [::a9fe:a9fe]:80 100.100.100.200:80 192.0.0.192:80 10.0.0.1:80 \
            192.168.1.1:22 172.16.0.1:80 100.64.0.1:80 [fc00::1]:80 224.0.0.1:80 [ff02::1]:80 \
            255.255.255.255:80 127.0.0.1:80 [::1]:80 0.0.0.0:80 [::]:80 [64:ff9b::127.0.0.1]:80 [2002:7f00:1::]:80";
        for to in elsewhere.split_whitespace() {
            assert!(!matches!(judged(to), Verdict::Reached(_)), "{to}");
        }
    }

    #[test]
    fn its_own_loopback_is_its_own() {
        for to in "127.0.0.1:80 127.1.2.3:80 0.0.0.0:80 [::1]:80 [::]:80 [::ffff:127.0.0.1]:80 198.18.0.9:80".split_whitespace() {
            assert_eq!(of("*.example.org", to), Verdict::Nobody, "{to}");
        }
    }
}
