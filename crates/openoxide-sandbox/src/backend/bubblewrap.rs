//! The backend that uses the system's `bwrap`: its path, and the clauses that it enforces.

use openoxide_protocol::{NetworkAccess, SandboxRestrictions};

use crate::backend::{
    clause::{ClauseEnforcement, ProfileClause},
    host_features::HostFeatures,
};

/// The only path from which `bwrap` is run. Ubuntu's AppArmor allows only this path to create user
/// namespaces, and a `bwrap` from a search path could be the project's.
pub(crate) const BWRAP: &str = "/usr/bin/bwrap";

/// Returns how `bwrap` enforces a clause. The seccomp filter is built by this crate. It refuses
/// Unix domain sockets except for socket pairs.
pub(super) fn clause_enforcement(
    clause: ProfileClause,
    profile: &SandboxRestrictions,
    support: &HostFeatures,
) -> ClauseEnforcement {
    match (&support.bubblewrap, &support.seccomp) {
        (Err(lack), _) | (_, Err(lack)) => lack.into(),
        _ => match clause {
            ProfileClause::Network
                if matches!(profile.network, NetworkAccess::Hosts(_) | NetworkAccess::Internet) =>
            {
                ClauseEnforcement::new_stricter(
                    "no host is reachable: only the backend `namespaces` can review connections",
                )
            }
            // Only root owns the host's devices. `bwrap` can mount a device read-only, but such a
            // device cannot be opened.
            ProfileClause::Kernel if support.is_root => ClauseEnforcement::new_unenforced(
                "as root, the program could change modes of host devices; `bwrap` cannot prevent \
                 that",
            ),
            ProfileClause::UnixSockets => {
                ClauseEnforcement::new_stricter("no Unix sockets except socket pairs")
            }
            _ => ClauseEnforcement::ENFORCED,
        },
    }
}
