//! The backend that uses new namespaces: the clauses that it enforces.

use openoxide_protocol::{NetworkAccess, SandboxRestrictions};

use crate::backend::{
    clause::{ClauseEnforcement, Enforcement, ProfileClause},
    host_features::HostFeatures,
};

/// Returns how the namespaces backend enforces a clause. Mounts enforce the restrictions on files.
/// The seccomp filter enforces what mounts cannot see. Landlock is a second layer below both:
/// without it, every clause is still enforced.
pub(super) fn clause_enforcement(
    clause: ProfileClause,
    profile: &SandboxRestrictions,
    support: &HostFeatures,
) -> ClauseEnforcement {
    if let Err(lack) = &support.namespaces {
        return lack.into();
    }
    if let (Err(lack), true) = (&support.seccomp, needs_filter(clause)) {
        return lack.into();
    }
    match clause {
        ProfileClause::WritesOutside | ProfileClause::Kernel if support.landlock.is_err() => {
            let why = "by mounts only: Landlock is not available as a second layer";
            ClauseEnforcement(Enforcement::Enforced, Some(why.to_owned()))
        }
        ProfileClause::Network => network_enforcement(profile, support),
        ProfileClause::UnixSockets if support.notification.is_err() => {
            ClauseEnforcement::new_stricter(
                "only pairs of Unix sockets are possible: connections cannot be reviewed at run time",
            )
        }
        // If the host's /proc were mounted here, it would show the names and arguments of all
        // processes.
        ProfileClause::Processes => {
            support.fresh_proc.as_ref().map_or_else(Into::into, |()| ClauseEnforcement::ENFORCED)
        }
        _ => ClauseEnforcement::ENFORCED,
    }
}

/// Returns whether a clause needs the seccomp filter, because no mount and no namespace enforces
/// it. New namespaces give rights in the kernel, and neither terminals nor keyrings have
/// namespaces.
const fn needs_filter(clause: ProfileClause) -> bool {
    matches!(clause, ProfileClause::UnixSockets | ProfileClause::Kernel | ProfileClause::Terminal)
}

fn network_enforcement(profile: &SandboxRestrictions, support: &HostFeatures) -> ClauseEnforcement {
    match (&profile.network, &support.notification) {
        (NetworkAccess::Hosts(_) | NetworkAccess::Internet, Err(_)) => {
            ClauseEnforcement::new_stricter(
                "hosts are reachable only at the usual and the named ports: others cannot be reviewed at \
                 run time",
            )
        }
        _ => ClauseEnforcement::ENFORCED,
    }
}
