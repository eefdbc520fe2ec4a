//! The reviewer of hosts that no rule matches.

use crate::interface::RuntimeDecision;

/// A reviewer of hosts that no rule matches.
///
/// It is called on its own thread, with one request at a time for each host and port. An answer
/// that is too late for the waiting connection applies to later ones, unless it was `Once`.
pub(crate) trait NetworkReviewer: Send + Sync {
    /// Asks whether this host, which is a name or an address, may be reached at this port.
    fn ask(&self, host: &str, port: u16) -> RuntimeDecision;
}
