//! Kernel objects that are limited for each user. The sandbox leaves some of them to the host.

use std::{fs, path::Path};

use crate::resource_limits::ResourceShares;

/// The kinds of namespaces that cannot be created inside. The seccomp filter refuses them too.
/// Mount namespaces are not limited: the kernel counts each cloned mount as one, and creating one
/// needs a capability that only a new user namespace could give.
const NAMESPACES: [&str; 7] = ["user", "pid", "net", "ipc", "uts", "cgroup", "time"];

/// Limits the kernel objects of this user namespace, and so of the processes inside: no further
/// namespaces, and this share of inotify(7). All namespaces of the run must exist already. If the
/// settings cannot be written, only the limits of the host apply.
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
