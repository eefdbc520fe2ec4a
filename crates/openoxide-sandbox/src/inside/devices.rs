//! A `/dev` with what programs need and nothing else.

use std::{
    fs, io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::symlink,
    },
};

use rustix::mount::{MountFlags, mount as mount_new};

use super::mounts::{self, open, put_on, set};
use crate::sys::{Attributes, set_attributes};

const NODES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];
const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// The host's nodes that pass.
pub(super) struct Devices(Vec<(&'static str, OwnedFd)>);

/// Takes the nodes, before the host's `/dev` is covered.
pub(super) fn take() -> io::Result<Devices> {
    let one = |name: &&'static str| Ok((*name, take_node(name)?));
    NODES.iter().map(one).collect::<io::Result<_>>().map(Devices)
}

fn take_node(name: &str) -> io::Result<OwnedFd> {
    let node = mounts::take(&format!("/dev/{name}"))?;
    // It is read and written all the same. Its mode, its owner and its times are the host's.
    let kept = Attributes { set: Attributes::READ_ONLY, ..Attributes::default() };
    set_attributes(node.as_fd(), c"", kept)?;
    Ok(node)
}

/// Mounts the new `/dev`, with this directory for memory that programs share.
pub(super) fn mount(devices: Devices, shared: OwnedFd) -> io::Result<()> {
    let plain = MountFlags::NOSUID | MountFlags::NOEXEC;
    mount_new("tmpfs", "/dev", "tmpfs", plain, c"mode=755,size=64k")?;
    for (name, tree) in devices.0 {
        let path = format!("/dev/{name}");
        drop(fs::File::create_new(&path)?);
        put_on(tree, open(&path)?)?;
    }
    for (name, target) in LINKS {
        symlink(target, format!("/dev/{name}"))?;
    }
    fs::create_dir("/dev/pts")?;
    mount_new("devpts", "/dev/pts", "devpts", plain, c"newinstance,ptmxmode=0666,mode=620")?;
    fs::create_dir("/dev/shm")?;
    set("/dev", Attributes { set: Attributes::READ_ONLY, ..Attributes::default() })?;
    let plain = Attributes { set: Attributes::NO_EXECUTION, ..Attributes::default() };
    set_attributes(shared.as_fd(), c"", plain)?;
    put_on(shared, open("/dev/shm")?)
}
