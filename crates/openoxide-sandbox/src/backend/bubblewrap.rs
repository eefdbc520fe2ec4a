//! The system's `bwrap`: what it holds, and how it is called.

#[cfg(target_os = "linux")]
mod arguments;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod real;

use openoxide_protocol::{Confined, Network};

#[cfg(target_os = "linux")]
pub(crate) use arguments::{Channels, Kind, arguments};

use super::Holding;
use crate::{Clause, Support};

/// Its one place. Ubuntu's AppArmor lets this path alone make user namespaces, and one from a search path could be the
/// project's.
pub(crate) const BWRAP: &str = "/usr/bin/bwrap";

/// Says how a clause is held. The filter is ours, and refuses sockets of the unix family but pairs.
pub(super) fn holding(clause: Clause, profile: &Confined, support: &Support) -> Holding {
    match (&support.bubblewrap, &support.seccomp) {
        (Err(lack), _) | (_, Err(lack)) => lack.into(),
        _ => match clause {
            Clause::Network if matches!(profile.network, Network::Hosts(_) | Network::Internet) => {
                Holding::stricter(
                    "no host is reached: connections are caught in our own namespaces alone",
                )
            }
            // Nobody else owns them. It can mount a device read-only, but only as one that cannot be opened.
            Clause::Kernel if support.is_root => Holding::not(
                "as root, modes of the host's devices could be changed; `bwrap` cannot hold them",
            ),
            Clause::UnixSockets => Holding::stricter("no socket of the unix family but pairs"),
            _ => Holding::ENFORCED,
        },
    }
}

/// Returns the filter of system calls for `--seccomp`.
#[cfg(target_os = "linux")]
pub(crate) fn filter() -> Vec<u8> {
    crate::seccomp::filter(crate::seccomp::Wanted { listen: false, live: false }).bytes()
}
