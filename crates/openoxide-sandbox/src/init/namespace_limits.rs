//! Kernel objects that are counted for a user as a whole: the sandbox leaves some to the host.

use std::{fs, path::Path};

use crate::resource_shares::ResourceShares;

/// Namespaces of these kinds are not made inside at all. The filter of system calls refuses them, too. Those of mounts are not bounded:
/// the kernel counts each copied mount as one, and making one takes a right that only a new user namespace could give.
const NAMESPACES: [&str; 7] = ["user", "pid", "net", "ipc", "uts", "cgroup", "time"];

/// Bounds them for this user namespace, and so for what is inside: no more namespaces, and this share of inotify(7). All
/// namespaces of the run must have been made. Where the settings cannot be written, the host's bounds hold alone.
pub(super) fn apply_limits(shares: &ResourceShares) {
    let user = Path::new("/proc/sys/user");
    for kind in NAMESPACES {
        drop(fs::write(user.join(format!("max_{kind}_namespaces")), "0"));
    }
    let watching =
        [("max_inotify_instances", shares.instances), ("max_inotify_watches", shares.watches)];
    for (name, share) in watching {
        if let Some(share) = share {
            drop(fs::write(user.join(name), share.to_string()));
        }
    }
}
