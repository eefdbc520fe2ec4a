//! Who is asked about a host that no rule speaks of.

use crate::RuntimeDecision;

/// Who is asked about a host that no rule speaks of.
///
/// It is asked on a thread of its own, about one host and port once at a time. An answer that comes too late for who
/// waited counts for what follows, unless it was `Once`.
pub trait NetworkReviewer: Send + Sync {
    /// Asks whether this host, which is a name or an address, may be reached at this port.
    fn ask(&self, host: &str, port: u16) -> RuntimeDecision;
}
