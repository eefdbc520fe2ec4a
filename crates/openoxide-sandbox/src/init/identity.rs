//! The identity of the process in its user namespace: the same user and group as before.

use std::{fs, io};

use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};

/// A user ID and a group ID, as seen outside of the sandbox.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostIdentity {
    user: u32,
    group: u32,
}

impl HostIdentity {
    /// Returns the identity of this process. In a new user namespace it would be the overflow user.
    pub(crate) fn current() -> Self {
        Self { user: geteuid().as_raw(), group: getegid().as_raw() }
    }

    /// Maps the user and the group to themselves. All other IDs become the overflow IDs
    /// (user_namespaces(7)).
    pub(super) fn map_identity(self) -> io::Result<()> {
        let Self { user, group } = self;
        // A map can be written once, and this one needs no capability. So the program cannot.
        drop(fs::write("/proc/self/projid_map", "0 0 1"));
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))
    }
}

/// Makes this process non-dumpable. The program has the same user ID, and must not access this
/// process, which keeps its capabilities.
pub(super) fn set_not_dumpable() -> io::Result<()> {
    Ok(set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
