//! Which hosts a confined process reaches.

use std::{collections::BTreeSet, fmt, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which hosts a confined process reaches. Its own loopback is always its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// None.
    #[default]
    Off,
    /// These, by name and port. Loopback, link-local, metadata and private addresses are never reached through a name.
    Hosts(BTreeSet<HostPort>),
    /// All: it has the host's network.
    On,
}

impl Network {
    /// Returns what both permit.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::On, network) | (network, Self::On) => network.clone(),
            (Self::Hosts(a), Self::Hosts(b)) => {
                let common: BTreeSet<_> =
                    a.iter().flat_map(|x| b.iter().filter_map(|y| x.common(y))).collect();
                let outermost = |one: &&HostPort| {
                    !common.iter().any(|other| other != *one && other.covers(one))
                };
                Self::Hosts(common.iter().filter(outermost).cloned().collect())
            }
        }
    }

    /// Says whether this host may be reached at this port. `host` is in lower case, without a trailing dot.
    #[must_use]
    pub fn reaches(&self, host: &str, port: u16) -> bool {
        match self {
            Self::Off => false,
            Self::On => true,
            Self::Hosts(hosts) => hosts.iter().any(|one| one.matches(host, port)),
        }
    }
}

/// A host, or all hosts below one (`*.example.org`, which is not `example.org` itself), at one port or at all of them.
///
/// As text: `example.org`, `*.example.org:443`, `[2001:db8::1]:22`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    host: String, // INVARIANT: lower case, no trailing dot; `*` only as the first label.
    port: Option<u16>,
}

/// Why a text names no host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPortError(String);

impl HostPort {
    /// Says whether this means that host and port.
    #[must_use]
    pub fn matches(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port) && self.names(host)
    }

    /// Returns the host, which may begin with `*.`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, if it is one.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        self.port
    }

    fn names(&self, host: &str) -> bool {
        match self.host.strip_prefix("*.") {
            Some(domain) => {
                host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            None => self.host == host,
        }
    }

    fn covers(&self, other: &Self) -> bool {
        (self.port.is_none() || self.port == other.port)
            && (self.host == other.host || self.names(&other.host))
    }

    /// Returns the hosts and ports that both mean.
    fn common(&self, other: &Self) -> Option<Self> {
        let port = match (self.port, other.port) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        let host = if self.host == other.host || other.names(&self.host) {
            &self.host
        } else if self.names(&other.host) {
            &other.host
        } else {
            return None;
        };
        Some(Self { host: host.clone(), port })
    }
}

impl FromStr for HostPort {
    type Err = HostPortError;

    fn from_str(text: &str) -> Result<Self, HostPortError> {
        let wrong = || HostPortError(text.to_owned());
        let (host, port) = split(text).ok_or_else(wrong)?;
        let port = port.map(|port| port.parse().map_err(|_| wrong())).transpose()?;
        let host = host.to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        let domain = host.strip_prefix("*.").unwrap_or(host);
        let address = domain.contains(':') && domain.parse::<std::net::Ipv6Addr>().is_ok();
        (address || is_domain(domain))
            .then(|| Self { host: host.to_owned(), port })
            .ok_or_else(wrong)
    }
}

/// Cuts a text into host and port. An address of version 6 with a port stands in brackets.
fn split(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
        return host.contains(':').then_some((host, port));
    }
    match text.split_once(':') {
        Some((_, rest)) if rest.contains(':') => Some((text, None)),
        Some((host, port)) => Some((host, Some(port))),
        None => Some((text, None)),
    }
}

/// Letters, digits, hyphens and underscores, in labels of 1 to 63 (RFC 1035 §2.3.4; underscores occur in practice).
fn is_domain(text: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    text.len() <= 253 && text.split('.').all(label)
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.port, self.host.contains(':')) {
            (Some(port), true) => write!(f, "[{}]:{port}", self.host),
            (Some(port), false) => write!(f, "{}:{port}", self.host),
            (None, _) => f.write_str(&self.host),
        }
    }
}

impl fmt::Display for HostPortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` names no host: write HOST, HOST:PORT or *.DOMAIN", self.0)
    }
}

impl std::error::Error for HostPortError {}

impl Serialize for HostPort {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for HostPort {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for HostPort {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "HostPort".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "description": "HOST, HOST:PORT or *.DOMAIN" })
    }
}
