//! Kernel objects that are counted for a user as a whole: the sandbox leaves some to the host.

use std::{fs, path::Path};

/// Namespaces of these kinds are not made inside at all. The filter of system calls refuses them, too. Those of mounts are not bounded:
/// the kernel counts each copied mount as one, and making one takes a right that only a new user namespace could give.
const NAMESPACES: [&str; 7] = ["user", "pid", "net", "ipc", "uts", "cgroup", "time"];
/// Objects of inotify(7), as they are called in `user` and in `fs/inotify`.
const WATCHING: [(&str, &str); 2] =
    [("max_inotify_instances", "max_user_instances"), ("max_inotify_watches", "max_user_watches")];

/// Bounds them for this user namespace, and so for what is inside: no more namespaces, and half of what the user may have of
/// inotify(7). All namespaces of the run must have been made. Where the settings cannot be written, the host's bounds hold alone.
pub(super) fn bound() {
    let user = Path::new("/proc/sys/user");
    for kind in NAMESPACES {
        drop(fs::write(user.join(format!("max_{kind}_namespaces")), "0"));
    }
    for (inside, outside) in WATCHING {
        let most = fs::read_to_string(Path::new("/proc/sys/fs/inotify").join(outside));
        let most = most.ok().and_then(|text| text.trim().parse::<u64>().ok());
        if let Some(most) = most {
            drop(fs::write(user.join(inside), (most / 2).max(1).to_string()));
        }
    }
}
