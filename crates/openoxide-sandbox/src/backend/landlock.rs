//! The backend that uses only Landlock and a seccomp filter.
//!
//! It fully enforces no profile. A process that may open a file may change its mode, times and
//! attributes, wherever the file is. Other processes are visible. A process that the command
//! started can outlive it. The backend exists so that an error can list what is missing.

use openoxide_protocol::{NetworkAccess, SandboxRestrictions};

use crate::backend::{
    clause::{ClauseEnforcement, ProfileClause},
    host_features::HostFeatures,
};

/// The first version that restricts devices (`LANDLOCK_ACCESS_FS_IOCTL_DEV`).
const DEVICES: u32 = 5;

/// Returns how Landlock and the seccomp filter enforce a clause.
pub(super) fn clause_enforcement(
    clause: ProfileClause,
    profile: &SandboxRestrictions,
    support: &HostFeatures,
) -> ClauseEnforcement {
    let found = match (&support.landlock, &support.seccomp) {
        (Ok(found), Ok(())) => found,
        (Err(lack), _) | (_, Err(lack)) => return lack.into(),
    };
    match clause {
        ProfileClause::WritesOutside => ClauseEnforcement::new_unenforced(
            "modes, times and attributes of files outside can be changed",
        ),
        ProfileClause::Protected | ProfileClause::ProtectedMissing
            if has_protected_paths(profile) =>
        {
            ClauseEnforcement::new_unenforced(
                "Landlock rules only grant access: a path inside a writable directory cannot be \
                 excluded",
            )
        }
        ProfileClause::Unreadable if !profile.unreadable.is_empty() => {
            ClauseEnforcement::new_unenforced(
                "Landlock rules only grant access: no path can be made unreadable",
            )
        }
        ProfileClause::Network if profile.network != NetworkAccess::On => {
            ClauseEnforcement::new_stricter(
                "no network sockets, not even for the loopback of the sandbox",
            )
        }
        ProfileClause::UnixSockets => {
            ClauseEnforcement::new_stricter("no Unix sockets except socket pairs")
        }
        ProfileClause::Processes => {
            ClauseEnforcement::new_unenforced("names and arguments of other processes can be read")
        }
        ProfileClause::ProcessTermination => {
            ClauseEnforcement::new_unenforced("processes that leave the process group keep running")
        }
        ProfileClause::Kernel if found.abi < DEVICES => {
            let own = found.abi;
            ClauseEnforcement::new_unenforced(format!(
                "restricting devices requires Landlock version {DEVICES}; this is {own}"
            ))
        }
        _ => ClauseEnforcement::ENFORCED,
    }
}

fn has_protected_paths(profile: &SandboxRestrictions) -> bool {
    let writable = |path: &openoxide_protocol::AbsPath| {
        profile.writable.iter().any(|root| path.strip_prefix(root).is_some())
    };
    profile.protected.iter().any(writable)
}
