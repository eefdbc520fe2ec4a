//! The `/proc` of the sandbox.
//!
//! It also contains kernel settings, which belong to root. So for root, it is read-only. For other
//! users, the directories of their own processes are writable (`comm`, `oom_score_adj`), and
//! everything else is covered by read-only mounts of itself. The first process inside is protected
//! by its owner: the kernel gives the files of an undumpable process to root.

use std::{fs, io, os::unix::fs::PermissionsExt as _, path::Path};

use rustix::{
    fs::{StatVfsMountFlags, statvfs},
    mount::{MountFlags, mount},
    process::geteuid,
};

use crate::{
    init::mount_operations::{bind_read_only, set_path_attributes},
    sys::MountAttributes,
};

const PROC: &str = "/proc";

/// Mounts a new `/proc` that shows only the processes of the namespace. If a container covers parts
/// of its own `/proc`, the kernel refuses a new one, which would show them. No program is run then.
pub(super) fn mount_proc() -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    if geteuid().is_root() {
        return Ok(mount("proc", PROC, "proc", flags | MountFlags::RDONLY, None)?);
    }
    mount("proc", PROC, "proc", flags, None)?;
    cover_settings().or_else(|_| {
        let read_only =
            MountAttributes { set: MountAttributes::READ_ONLY, ..MountAttributes::default() };
        set_path_attributes(PROC, read_only)
    })
}

/// Returns whether the directories of processes are writable.
pub(super) fn has_writable_processes() -> bool {
    statvfs(PROC).is_ok_and(|found| !found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

/// Covers everything that is not the directory of a process and could be written.
fn cover_settings() -> io::Result<()> {
    for entry in fs::read_dir(PROC)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        let is_process = entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit());
        if is_process || kind.is_symlink() {
            continue;
        }
        if kind.is_dir() || is_writable(&entry.path())? {
            bind_read_only(&entry.path())?;
        }
    }
    Ok(())
}

fn is_writable(path: &Path) -> io::Result<bool> {
    Ok(fs::symlink_metadata(path)?.permissions().mode() & 0o222 != 0)
}
