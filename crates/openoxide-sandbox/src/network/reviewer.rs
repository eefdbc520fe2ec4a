//! The reviewer of hosts that no rule matches.

use std::net::IpAddr;

use crate::interface::RuntimeDecision;

/// A connection that a reviewer decides about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReviewedConnection {
    /// The host, which is a name or an address.
    pub(crate) host: String,
    /// The private address that the host leads to. `None` if the host itself is reviewed.
    pub(crate) private_address: Option<IpAddr>,
    /// The port.
    pub(crate) port: u16,
}

/// A reviewer of hosts that no rule matches.
///
/// It is called on its own thread, with one request at a time for each connection. An answer that
/// is too late for the waiting connection applies to later ones, unless it was `Once`.
pub(crate) trait NetworkReviewer: Send + Sync {
    /// Asks whether this connection may be made.
    fn ask(&self, connection: &ReviewedConnection) -> RuntimeDecision;
}
