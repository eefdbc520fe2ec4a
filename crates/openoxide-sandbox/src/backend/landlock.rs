//! Landlock and a filter alone: what they hold.
//!
//! There is no profile that they hold wholly: whoever may open a file may change its mode, times and attributes, wherever
//! it lies; other processes are seen; and what was started can outlive the command. It is here so that a refusal says
//! what is missing.

use openoxide_protocol::{Confined, Network};

use super::Holding;
use crate::{Clause, Support};

/// The version since which devices are held (`LANDLOCK_ACCESS_FS_IOCTL_DEV`).
const DEVICES: u32 = 5;

/// Says how a clause is held.
pub(super) fn holding(clause: Clause, profile: &Confined, support: &Support) -> Holding {
    let found = match (&support.landlock, &support.seccomp) {
        (Ok(found), Ok(())) => found,
        (Err(lack), _) | (_, Err(lack)) => return lack.into(),
    };
    match clause {
        Clause::WritesOutside => {
            Holding::not("modes, times and attributes of files outside can be changed")
        }
        Clause::Protected | Clause::ProtectedMissing if has_protected(profile) => {
            Holding::not("its rules only add: what lies in a writable directory cannot be left out")
        }
        Clause::Unreadable if !profile.unreadable.is_empty() => {
            Holding::not("its rules only add: nothing can be left out of what is read")
        }
        Clause::Network if profile.network != Network::On => {
            Holding::stricter("no socket of any network family, not even for its own loopback")
        }
        Clause::UnixSockets => Holding::stricter("no socket of the unix family but pairs"),
        Clause::Processes => Holding::not("names and arguments of other processes can be read"),
        Clause::Ends => Holding::not("what leaves the process group goes on"),
        Clause::Kernel if found.abi < DEVICES => {
            let own = found.abi;
            Holding::not(format!("devices are held since version {DEVICES}, and this is {own}"))
        }
        _ => Holding::ENFORCED,
    }
}

fn has_protected(profile: &Confined) -> bool {
    let writable = |path: &openoxide_protocol::AbsPath| {
        profile.writable.iter().any(|root| path.below(root).is_some())
    };
    profile.protected.iter().any(writable)
}
