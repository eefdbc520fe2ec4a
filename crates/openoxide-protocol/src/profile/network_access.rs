//! The hosts that a confined process can reach.

use std::{
    collections::BTreeSet,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::is_public;

/// The hosts that a confined process can reach. The process always has its own loopback interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkAccess {
    /// No hosts.
    #[default]
    Off,
    /// These hosts, by name and port. Loopback, link-local and metadata addresses cannot be reached
    /// through a name, and private addresses only through a name that is allowed exactly.
    Hosts(BTreeSet<HostPort>),
    /// The internet: every name, and every address that is globally reachable, over TCP only. This
    /// machine, its local networks and the metadata services of clouds cannot be reached, whatever
    /// name or spelling is used.
    Internet,
    /// All hosts: the process uses the network of the host machine, including its loopback
    /// interface and its local networks.
    On,
}

impl NetworkAccess {
    /// Returns the network access that both permit.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::On, network) | (network, Self::On) => network.clone(),
            (Self::Internet, Self::Internet) => Self::Internet,
            (Self::Internet, Self::Hosts(hosts)) | (Self::Hosts(hosts), Self::Internet) => {
                Self::Hosts(
                    hosts.iter().filter(|one| is_internet_host(&one.host)).cloned().collect(),
                )
            }
            (Self::Hosts(a), Self::Hosts(b)) => {
                let common: BTreeSet<_> =
                    a.iter().flat_map(|x| b.iter().filter_map(|y| x.intersect(y))).collect();
                let outermost = |one: &&HostPort| {
                    !common.iter().any(|other| other != *one && other.subsumes(one))
                };
                Self::Hosts(common.iter().filter(outermost).cloned().collect())
            }
        }
    }

    /// Returns whether this host may be reached at this port. Under [`Self::Hosts`], a text that is
    /// not a valid host is never allowed.
    #[must_use]
    pub fn allows(&self, host: &str, port: u16) -> bool {
        match self {
            Self::Off => false,
            Self::On => true,
            Self::Internet => parse_host(host).is_some_and(|host| is_internet_host(&host)),
            Self::Hosts(hosts) => hosts.iter().any(|one| one.matches(host, port)),
        }
    }
}

/// A host, or all hosts below one (`*.example.org`, which does not include `example.org`), at one
/// port or at all ports.
///
/// The text form is `example.org`, `*.example.org:443` or `[2001:db8::1]:22`. A host is valid only
/// if every resolver interprets it in the same way. A name must not be one that a resolver could
/// interpret as an address (`127.1`, `0x7f.0.0.1`, `2130706433`; WHATWG URL, "ends in a number"),
/// and no label may be empty. An IPv6 address has one spelling. An IPv6 address that represents an
/// IPv4 address is equal to that IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    // INVARIANT: made by `parse_host_pattern` only: lower case, no trailing dot; `*` only as the
    // first label of a name.
    host: String,
    port: Option<u16>,
}

/// An error for a text that is not a valid host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPortError(String);

impl HostPort {
    /// Returns whether this entry matches the host and the port. A text that is not a valid host
    /// never matches.
    #[must_use]
    pub fn matches(&self, host: &str, port: u16) -> bool {
        self.port.is_none_or(|own| own == port)
            && parse_host(host).is_some_and(|host| self.matches_host(&host))
    }

    /// Returns the host, which may begin with `*.`.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port, or `None` for all ports.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        self.port
    }

    fn matches_host(&self, host: &str) -> bool {
        match self.host.strip_prefix("*.") {
            Some(domain) => {
                host.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            None => self.host == host,
        }
    }

    fn subsumes(&self, other: &Self) -> bool {
        (self.port.is_none() || self.port == other.port)
            && (self.host == other.host || self.matches_host(&other.host))
    }

    /// Returns the hosts and ports that both entries match.
    fn intersect(&self, other: &Self) -> Option<Self> {
        let port = match (self.port, other.port) {
            (Some(a), Some(b)) if a != b => return None,
            (a, b) => a.or(b),
        };
        let host = if self.host == other.host || other.matches_host(&self.host) {
            &self.host
        } else if self.matches_host(&other.host) {
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
        let read = || {
            let (host, port) = split_host_port(text)?;
            let port = match port {
                Some(port) => Some(parse_port(port)?),
                None => None,
            };
            Some(Self { host: parse_host_pattern(host)?, port })
        };
        read().ok_or_else(|| HostPortError(text.chars().take(MAX_SHOWN_CHARS).collect()))
    }
}

/// Returns whether a host from [`parse_host_pattern`] can be on the internet: a globally reachable
/// address, or a name that is not reserved for the machine itself (RFC 6761 §6.3).
fn is_internet_host(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => is_public(address),
        Err(_) => host.rsplit('.').next() != Some("localhost"),
    }
}

/// The maximum number of characters of an invalid text in an error.
const MAX_SHOWN_CHARS: usize = 300;

/// Splits a text into host and port. An IPv6 address with a port is enclosed in brackets.
fn split_host_port(text: &str) -> Option<(&str, Option<&str>)> {
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

/// Parses a port: only digits, without a sign, not 0.
fn parse_port(text: &str) -> Option<u16> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| digits && *port != 0)
}

/// Parses a host that may begin with `*.`.
fn parse_host_pattern(text: &str) -> Option<String> {
    match text.strip_prefix("*.") {
        Some(domain) => parse_domain_name(domain).map(|domain| format!("*.{domain}")),
        None => parse_host(text),
    }
}

/// Parses the name or address of one host, and returns its canonical spelling.
fn parse_host(text: &str) -> Option<String> {
    if text.contains(':') {
        let address: Ipv6Addr = text.parse().ok()?;
        return Some(address.to_canonical().to_string());
    }
    let address: Option<Ipv4Addr> = text.strip_suffix('.').unwrap_or(text).parse().ok();
    address.map(|address| address.to_string()).or_else(|| parse_domain_name(text))
}

/// Parses a name: labels of 1 to 63 letters, digits, underscores (which occur in practice) and
/// inner hyphens. The last label must not be a number (RFC 1035 §2.3.4, RFC 1123 §2.1).
fn parse_domain_name(text: &str) -> Option<String> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let last = text.rsplit('.').next()?;
    let is_name =
        text.len() <= 253 && text.split('.').all(is_domain_label) && !is_numeric_label(last);
    is_name.then(|| text.to_ascii_lowercase())
}

fn is_domain_label(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=63).contains(&text.len())
        && text.bytes().all(letters)
        && !text.starts_with('-')
        && !text.ends_with('-')
}

/// Returns whether a resolver could interpret a label as a number: `10`, `0x7f`, `0x`.
fn is_numeric_label(label: &str) -> bool {
    let hexadecimal = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    label.bytes().all(|byte| byte.is_ascii_digit())
        || hexadecimal.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
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
        write!(f, "`{}` is not a host: expected HOST, HOST:PORT or *.DOMAIN", self.0)
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
