//! Probes of the operations that the kernel allows this process, made in a child process that then
//! exits.
//!
//! The program may have other threads. Therefore the child makes only system calls between its
//! start and its end. It allocates nothing and takes no lock (`signal-safety(7)`). All texts are
//! created before.

use std::{ffi::CStr, fs::File, io, io::Read as _};

use rustix::{
    fd::{AsFd as _, OwnedFd},
    fs::{CWD, Mode, OFlags},
    io::Errno,
    mount::{MountFlags, MountPropagationFlags},
    pipe::{PipeFlags, pipe_with},
    process::WaitOptions,
};

use crate::sys::{
    mount::{MountAttributes, set_attributes},
    process::{NamespaceFlags, exit_process, fork_into_namespaces},
};

/// The result of one attempt. Its code is 0 if the attempt succeeded, or the error number of the
/// kernel. It is negative if the attempt was never made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProbeResult {
    /// The attempt succeeded.
    Succeeded,
    /// The attempt failed.
    Failed(Errno),
    /// A step before it failed.
    NotAttempted,
}

impl ProbeResult {
    const fn to_code(self) -> i32 {
        match self {
            Self::Succeeded => 0,
            Self::Failed(error) => error.raw_os_error(),
            Self::NotAttempted => -1,
        }
    }

    const fn from_code(code: i32) -> Self {
        match code {
            0 => Self::Succeeded,
            1.. => Self::Failed(Errno::from_raw_os_error(code)),
            _ => Self::NotAttempted,
        }
    }

    /// Makes the next attempt if this one succeeded.
    fn and_then(self, attempt: impl FnOnce() -> Result<(), Errno>) -> Self {
        match self {
            Self::Succeeded => attempt().into(),
            Self::Failed(_) | Self::NotAttempted => Self::NotAttempted,
        }
    }
}

impl From<Result<(), Errno>> for ProbeResult {
    fn from(result: Result<(), Errno>) -> Self {
        result.map_or_else(Self::Failed, |()| Self::Succeeded)
    }
}

/// The steps for entering new namespaces, and the features that are needed in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NamespaceProbe {
    /// New namespaces, as the sandbox creates them.
    pub(crate) created: ProbeResult,
    /// The user and group IDs of this process can be mapped in them.
    pub(crate) ids_mapped: ProbeResult,
    /// Mounts can be changed.
    pub(crate) mounts: ProbeResult,
    /// A new /proc.
    pub(crate) fresh_proc: ProbeResult,
    /// An overlay.
    pub(crate) overlay: ProbeResult,
    /// The whole tree can be made read-only in one call.
    pub(crate) remounted_read_only: ProbeResult,
}

/// Tries to create new namespaces, and the features that are needed in them.
pub(crate) fn probe_namespaces() -> NamespaceProbe {
    let ids = IdMaps::for_current_user();
    let tried = run_in_child(NamespaceFlags::all(true), || {
        let mapped = ProbeResult::from(ids.write_maps());
        let mounts = mapped.and_then(|| {
            let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            rustix::mount::mount_change(c"/", private)
        });
        let fresh_proc = mounts.and_then(mount_proc);
        let overlay = mounts.and_then(mount_overlay);
        let read_only = mounts.and_then(remount_read_only);
        [mapped, mounts, fresh_proc, overlay, read_only]
    });
    let never = ProbeResult::NotAttempted;
    match tried {
        Ok([mapped, mounts, fresh_proc, overlay, read_only]) => NamespaceProbe {
            created: ProbeResult::Succeeded,
            ids_mapped: mapped,
            mounts,
            fresh_proc,
            overlay,
            remounted_read_only: read_only,
        },
        Err(error) => NamespaceProbe {
            created: ProbeResult::Failed(error),
            ids_mapped: never,
            mounts: never,
            fresh_proc: never,
            overlay: never,
            remounted_read_only: never,
        },
    }
}

/// Tries a seccomp filter, and one with a listener for notifications. A whole chain of filters can
/// have only one listener.
pub(crate) fn probe_seccomp() -> (ProbeResult, ProbeResult) {
    let tried = run_in_child(NamespaceFlags::NONE, || {
        let filter = ProbeResult::from(rustix::thread::set_no_new_privs(true))
            .and_then(|| install_filter(0));
        let listener = filter.and_then(|| install_filter(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER));
        [filter, listener]
    });
    tried.map_or_else(
        |error| (ProbeResult::Failed(error), ProbeResult::NotAttempted),
        |[filter, listener]| (filter, listener),
    )
}

/// Returns the version of Landlock and its fixed errata, as bits (`landlock_create_ruleset(2)`).
pub(crate) fn probe_landlock() -> Result<(u32, u32), Errno> {
    const VERSION: u32 = 1;
    const ERRATA: u32 = 2;
    let ask = |flag: u32| {
        let none = std::ptr::null::<libc::c_void>();
        // SAFETY: with one of these flags, the call reads no memory and creates nothing.
        let answer =
            unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, flag) };
        check_result(answer).map(|answer| u32::try_from(answer).unwrap_or(0))
    };
    Ok((ask(VERSION)?, ask(ERRATA).unwrap_or(0)))
}

/// Runs attempts in a child process. An attempt that it did not report, because it was killed, has
/// failed.
///
/// # Errors
/// Returns an error if the child cannot be created.
fn run_in_child<const N: usize>(
    namespaces: NamespaceFlags,
    attempts: impl FnOnce() -> [ProbeResult; N],
) -> Result<[ProbeResult; N], Errno> {
    let (from_child, to_parent) = pipe_with(PipeFlags::CLOEXEC)?;
    let Some(child) = fork_into_namespaces(namespaces).map_err(|error| to_errno(&error))? else {
        for tried in attempts() {
            let _written = rustix::io::write(&to_parent, &tried.to_code().to_ne_bytes());
        }
        exit_process(0)
    };
    drop(to_parent);
    let tried = read_results(from_child);
    let _status = rustix::process::waitpid(Some(child), WaitOptions::empty());
    Ok(tried)
}

fn read_results<const N: usize>(from: OwnedFd) -> [ProbeResult; N] {
    let (mut from, mut code) = (File::from(from), [0; 4]);
    std::array::from_fn(|_| match from.read_exact(&mut code) {
        Ok(()) => ProbeResult::from_code(i32::from_ne_bytes(code)),
        Err(_) => ProbeResult::Failed(Errno::CANCELED),
    })
}

fn to_errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::CANCELED)
}

fn check_result(answer: libc::c_long) -> Result<libc::c_long, Errno> {
    if answer < 0 { Err(to_errno(&io::Error::last_os_error())) } else { Ok(answer) }
}

/// The texts that map the user and group IDs of this process, created before the fork.
struct IdMaps {
    user: String,
    group: String,
}

impl IdMaps {
    fn for_current_user() -> Self {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let (user, group) = (user.as_raw(), group.as_raw());
        Self { user: format!("{user} {user} 1"), group: format!("{group} {group} 1") }
    }

    fn write_maps(&self) -> Result<(), Errno> {
        write_file(c"/proc/self/setgroups", b"deny")?;
        write_file(c"/proc/self/uid_map", self.user.as_bytes())?;
        write_file(c"/proc/self/gid_map", self.group.as_bytes())
    }
}

fn write_file(path: &CStr, text: &[u8]) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file.as_fd(), text).map(|_| ())
}

fn mount_proc() -> Result<(), Errno> {
    rustix::mount::mount(c"proc", c"/proc", c"proc", MountFlags::empty(), None)
}

/// Mounts an overlay in a separate file system that no other process can see.
fn mount_overlay() -> Result<(), Errno> {
    const OPTIONS: &CStr = c"lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr";
    rustix::mount::mount(c"tmpfs", c"/tmp", c"tmpfs", MountFlags::empty(), None)?;
    for directory in [c"/tmp/l", c"/tmp/u", c"/tmp/w", c"/tmp/m"] {
        rustix::fs::mkdir(directory, Mode::RWXU)?;
    }
    rustix::mount::mount(c"overlay", c"/tmp/m", c"overlay", MountFlags::empty(), OPTIONS)
}

fn remount_read_only() -> Result<(), Errno> {
    let set = MountAttributes::READ_ONLY | MountAttributes::NO_SETUID;
    let all = MountAttributes { set, recursive: true, ..MountAttributes::default() };
    set_attributes(CWD, c"/", all).map_err(|error| to_errno(&error))
}

/// Installs a filter that allows everything.
fn install_filter(flags: libc::c_ulong) -> Result<(), Errno> {
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    let mut allow = libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    let (set, program) = (libc::SECCOMP_SET_MODE_FILTER, &raw const program);
    // SAFETY: `program` points to one instruction, and both live until the call returns. It allows every call.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, program) };
    check_result(answer).map(|_| ())
}
