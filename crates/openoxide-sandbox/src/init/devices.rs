//! A `/dev` that contains only what programs need.

use std::{
    ffi::CStr,
    fs, io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::symlink,
    },
};

use rustix::mount::{MountFlags, mount as mount_new};

use crate::{
    init::{
        mount_operations::{attach_tree_at, clone_tree, open_without_links, set_path_attributes},
        private_configs,
    },
    sys::{MountAttributes, set_attributes},
};

const DEVICE_NAMES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
/// The options of the terminals inside. The kernel counts terminals for the whole machine
/// (`kernel.pty.max`), so their number is limited.
const TERMINAL_OPTIONS: &CStr = c"newinstance,ptmxmode=0666,mode=620,max=256";
const DEVICE_LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// The device nodes of the host that are visible in the sandbox.
pub(super) struct DeviceNodes(Vec<(&'static str, OwnedFd)>);

/// Clones the nodes, before the host's `/dev` is covered.
pub(super) fn clone_device_nodes() -> io::Result<DeviceNodes> {
    let one = |name: &&'static str| Ok((*name, clone_device_node(name)?));
    DEVICE_NAMES.iter().map(one).collect::<io::Result<_>>().map(DeviceNodes)
}

fn clone_device_node(name: &str) -> io::Result<OwnedFd> {
    let node = clone_tree(&format!("/dev/{name}"))?;
    // The device can still be read and written. The read-only mount protects its mode, owner and
    // times, which are those of the host.
    let kept = MountAttributes { set: MountAttributes::READ_ONLY, ..MountAttributes::default() };
    set_attributes(node.as_fd(), c"", kept)?;
    Ok(node)
}

/// Mounts the new `/dev`, with this directory for shared memory.
pub(super) fn mount_dev(devices: DeviceNodes, shared: OwnedFd) -> io::Result<()> {
    let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_new("tmpfs", "/dev", "tmpfs", plain, c"mode=755,size=64k")?;
    for (name, tree) in devices.0 {
        let path = format!("/dev/{name}");
        drop(fs::File::create_new(&path)?);
        attach_tree_at(tree, open_without_links(&path)?)?;
    }
    for (name, target) in DEVICE_LINKS {
        symlink(target, format!("/dev/{name}"))?;
    }
    fs::create_dir("/dev/pts")?;
    mount_new("devpts", "/dev/pts", "devpts", plain, TERMINAL_OPTIONS)?;
    fs::create_dir("/dev/shm")?;
    private_configs::create_mount_points()?;
    set_path_attributes(
        "/dev",
        MountAttributes { set: MountAttributes::READ_ONLY, ..MountAttributes::default() },
    )?;
    attach_tree_at(shared, open_without_links("/dev/shm")?)
}
