//! Sandbox profiles: the restrictions that the operating system enforces.

mod network_access;
mod published_port;
mod restrictions;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use network_access::{HostPort, HostPortError, NetworkAccess};
pub use published_port::{PublishedPort, PublishedPortError};
pub use restrictions::{SandboxRestrictions, TempDirectories};

/// The restrictions that the operating system enforces while a process runs.
///
/// Profiles are ordered by what they permit. [`SandboxProfile::intersect`] returns their greatest
/// lower bound: it permits exactly what both permit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "profile", rename_all = "kebab-case")]
pub enum SandboxProfile {
    /// No restrictions.
    DangerFullAccess,
    /// The process already runs in an external sandbox (a container, a virtual machine), which is
    /// responsible for files.
    ExternalSandbox {
        /// The hosts that are still reachable, through OpenOxide's own proxy.
        network: NetworkAccess,
    },
    /// The operating system enforces these restrictions.
    Confined(SandboxRestrictions),
}

impl SandboxProfile {
    /// Returns a profile that permits what both permit. It never permits more than either. The
    /// operation is idempotent, commutative and associative.
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

    /// Returns the restrictions, if the profile has any.
    #[must_use]
    pub const fn restrictions(&self) -> Option<&SandboxRestrictions> {
        match self {
            Self::Confined(confined) => Some(confined),
            Self::DangerFullAccess | Self::ExternalSandbox { .. } => None,
        }
    }
}
