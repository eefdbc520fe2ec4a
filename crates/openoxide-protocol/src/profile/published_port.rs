//! The ports of a confined process that are published on the host.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A port inside a sandbox, and the port of the host's loopback interface at which it is published.
///
/// The text form is `3000`, which is the same port on the host, or `3000:8080`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublishedPort {
    // INVARIANT: `port` is at least `FIRST_PORT`, `host_port` is not 0.
    port: u16,
    host_port: u16,
}

/// An error for a text that is not a port to publish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishedPortError {
    /// The text is not `PORT` or `PORT:HOSTPORT` with numbers from 1 to 65535.
    Malformed,
    /// The text names an address of the host.
    Address,
    /// The text is a range of ports.
    Range,
    /// A confined program cannot listen on this port.
    Privileged(u16),
}

/// The first port that a program without privileges can listen on (`ip_unprivileged_port_start`).
const FIRST_PORT: u16 = 1024;

impl PublishedPort {
    /// Creates an instance for a port inside that is published at `host_port`. Returns `None` if no
    /// confined program can listen on the port, or if the port of the host is 0.
    #[must_use]
    pub const fn new(port: u16, host_port: u16) -> Option<Self> {
        if port < FIRST_PORT || host_port == 0 { None } else { Some(Self { port, host_port }) }
    }

    /// Returns the port that a program inside listens on.
    #[must_use]
    pub const fn port(self) -> u16 {
        self.port
    }

    /// Returns the port of the host's loopback interface.
    #[must_use]
    pub const fn host_port(self) -> u16 {
        self.host_port
    }
}

impl FromStr for PublishedPort {
    type Err = PublishedPortError;

    fn from_str(text: &str) -> Result<Self, PublishedPortError> {
        if text.contains('.') || text.contains('[') || text.split(':').count() > 2 {
            return Err(PublishedPortError::Address);
        }
        if text.contains('-') && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            return Err(PublishedPortError::Range);
        }
        let (port, host_port) = text.split_once(':').unwrap_or((text, text));
        let (port, host_port) = (parse_port(port)?, parse_port(host_port)?);
        Self::new(port, host_port).ok_or(PublishedPortError::Privileged(port))
    }
}

/// Parses a port: only digits, without a sign, not 0.
fn parse_port(text: &str) -> Result<u16, PublishedPortError> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let port = text.parse().ok().filter(|port| digits && *port != 0);
    port.ok_or(PublishedPortError::Malformed)
}

impl fmt::Display for PublishedPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.port == self.host_port {
            self.port.fmt(f)
        } else {
            write!(f, "{}:{}", self.port, self.host_port)
        }
    }
}

impl fmt::Display for PublishedPortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed => f.write_str("expected PORT or PORT:HOSTPORT, each from 1 to 65535"),
            Self::Address => f.write_str(
                "ports are published on the loopback interface only (127.0.0.1 and ::1): expected \
                 PORT or PORT:HOSTPORT",
            ),
            Self::Range => f.write_str("ranges are not supported: name each port"),
            Self::Privileged(port) => write!(
                f,
                "a program in the sandbox cannot listen on port {port}, only on ports from \
                 {FIRST_PORT}; the port of the host comes second, as in `8080:{port}`"
            ),
        }
    }
}

impl std::error::Error for PublishedPortError {}

impl Serialize for PublishedPort {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PublishedPort {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_has_the_same_number_on_the_host_unless_another_is_named() {
        for (text, port, host_port) in
            [("3000", 3000, 3000), ("3000:80", 3000, 80), ("1024:65535", 1024, 65535)]
        {
            let parsed: PublishedPort = text.parse().unwrap();
            assert_eq!((parsed.port(), parsed.host_port()), (port, host_port), "{text}");
            assert_eq!(parsed.to_string(), text);
            let json = serde_json::to_string(&parsed).unwrap();
            assert_eq!(serde_json::from_str::<PublishedPort>(&json).unwrap(), parsed);
        }
        assert_eq!("3000:3000".parse::<PublishedPort>().unwrap().to_string(), "3000");
    }

    #[test]
    fn other_texts_are_errors_with_their_reason() {
        use PublishedPortError::{Address, Malformed, Privileged, Range};
        for (text, error) in [
            ("", Malformed),
            ("0", Malformed),
            ("65536", Malformed),
            ("+3000", Malformed),
            ("-1", Range),
            (" 3000", Malformed),
            ("3000:", Malformed),
            (":3000", Malformed),
            ("3000:0", Malformed),
            ("http", Malformed),
            ("3000/udp", Malformed),
            ("3000-3010", Range),
            ("0.0.0.0:8080:80", Address),
            ("127.0.0.1:3000", Address),
            ("[::]:3000", Address),
            ("::1:3000", Address),
            ("1:2:3", Address),
            ("80", Privileged(80)),
            ("1023:8080", Privileged(1023)),
        ] {
            assert_eq!(text.parse::<PublishedPort>(), Err(error), "{text:?}");
        }
    }
}
