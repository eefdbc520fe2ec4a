//! What the operating system is told to hold.

mod network_access;
mod restrictions;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use network_access::{HostPort, HostPortError, NetworkAccess};
pub use restrictions::{SandboxRestrictions, TempDirectories};

/// What the operating system is told to hold while a process runs (seed 001 §sandbox, seed 002 §3).
///
/// Profiles are ordered by what they permit; [`SandboxProfile::intersect`] is their greatest lower bound: it permits what
/// both permit, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "profile", rename_all = "kebab-case")]
pub enum SandboxProfile {
    /// Nothing is held.
    DangerFullAccess,
    /// Something around us holds the process already (a container, a virtual machine). Files are its business.
    ExternalSandbox {
        /// What is reached all the same through our own proxy.
        network: NetworkAccess,
    },
    /// The operating system enforces all of it, as said.
    Confined(SandboxRestrictions),
}

impl SandboxProfile {
    /// Returns what both permit. It never permits more than either: idempotent, commutative, associative.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::DangerFullAccess, profile) | (profile, Self::DangerFullAccess) => {
                profile.clone()
            }
            (Self::Confined(a), Self::Confined(b)) => Self::Confined(a.intersect(b)),
            (Self::ExternalSandbox { network: a }, Self::ExternalSandbox { network: b }) => {
                Self::ExternalSandbox { network: a.intersect(b) }
            }
            (Self::ExternalSandbox { network }, Self::Confined(confined))
            | (Self::Confined(confined), Self::ExternalSandbox { network }) => {
                let network = confined.network.intersect(network);
                Self::Confined(SandboxRestrictions { network, ..confined.clone() })
            }
        }
    }

    /// Returns what is held, if anything is.
    #[must_use]
    pub const fn restrictions(&self) -> Option<&SandboxRestrictions> {
        match self {
            Self::Confined(confined) => Some(confined),
            Self::DangerFullAccess | Self::ExternalSandbox { .. } => None,
        }
    }
}
