//! Attempts: what the kernel lets this process do is found out by a child that does it and ends.
//!
//! The program may have other threads. Between its start and its end the child therefore calls the kernel alone: it allocates
//! nothing and takes no lock (`signal-safety(7)`). All texts are made before.

use std::{ffi::CStr, fs::File, io, io::Read as _};

use rustix::{
    fd::{AsFd as _, OwnedFd},
    fs::{CWD, Mode, OFlags},
    io::Errno,
    mount::{MountFlags, MountPropagationFlags},
    pipe::{PipeFlags, pipe_with},
    process::WaitOptions,
};

use super::{Attributes, Namespaces, end, fork_into, set_attributes};

/// How one attempt went. The number is the kernel's: 0 if it worked, or the error; below 0 if it was never made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tried {
    /// It worked.
    Works,
    /// It failed.
    Fails(Errno),
    /// A step before it failed.
    Never,
}

impl Tried {
    const fn code(self) -> i32 {
        match self {
            Self::Works => 0,
            Self::Fails(error) => error.raw_os_error(),
            Self::Never => -1,
        }
    }

    const fn of(code: i32) -> Self {
        match code {
            0 => Self::Works,
            1.. => Self::Fails(Errno::from_raw_os_error(code)),
            _ => Self::Never,
        }
    }

    /// Makes the next attempt if this one worked.
    fn then(self, attempt: impl FnOnce() -> Result<(), Errno>) -> Self {
        match self {
            Self::Works => attempt().into(),
            Self::Fails(_) | Self::Never => Self::Never,
        }
    }
}

impl From<Result<(), Errno>> for Tried {
    fn from(result: Result<(), Errno>) -> Self {
        result.map_or_else(Self::Fails, |()| Self::Works)
    }
}

/// The steps that lead into own namespaces, and what is needed in them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// New namespaces, as the sandbox makes them.
    pub(crate) made: Tried,
    /// The own ids mean something in them.
    pub(crate) mapped: Tried,
    /// Mounts are ours to change.
    pub(crate) mounts: Tried,
    /// A new /proc.
    pub(crate) fresh_proc: Tried,
    /// An overlay.
    pub(crate) overlay: Tried,
    /// The whole tree turns read-only in one call.
    pub(crate) read_only: Tried,
}

/// Tries to make namespaces, and what is needed in them.
pub(crate) fn namespaces() -> Steps {
    let ids = Ids::own();
    let tried = in_child(Namespaces::all(true), || {
        let mapped = Tried::from(ids.map());
        let mounts = mapped.then(|| {
            let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
            rustix::mount::mount_change(c"/", private)
        });
        let fresh_proc = mounts.then(mount_proc);
        let overlay = mounts.then(mount_overlay);
        let read_only = mounts.then(turn_read_only);
        [mapped, mounts, fresh_proc, overlay, read_only]
    });
    let never = Tried::Never;
    match tried {
        Ok([mapped, mounts, fresh_proc, overlay, read_only]) => {
            Steps { made: Tried::Works, mapped, mounts, fresh_proc, overlay, read_only }
        }
        Err(error) => Steps {
            made: Tried::Fails(error),
            mapped: never,
            mounts: never,
            fresh_proc: never,
            overlay: never,
            read_only: never,
        },
    }
}

/// Tries a seccomp filter, and one whose calls somebody is notified of: there is one place for a listener in the whole chain of
/// filters.
pub(crate) fn seccomp() -> (Tried, Tried) {
    let tried = in_child(Namespaces::NONE, || {
        let filter = Tried::from(rustix::thread::set_no_new_privs(true)).then(|| install(0));
        let listener = filter.then(|| install(libc::SECCOMP_FILTER_FLAG_NEW_LISTENER));
        [filter, listener]
    });
    tried.map_or_else(
        |error| (Tried::Fails(error), Tried::Never),
        |[filter, listener]| (filter, listener),
    )
}

/// Returns Landlock's version and the errors in it that were mended, as bits (`landlock_create_ruleset(2)`).
pub(crate) fn landlock() -> Result<(u32, u32), Errno> {
    const VERSION: u32 = 1;
    const ERRATA: u32 = 2;
    let ask = |flag: u32| {
        let none = std::ptr::null::<libc::c_void>();
        // SAFETY: with one of these flags the call reads no memory and makes nothing.
        let answer =
            unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, flag) };
        check(answer).map(|answer| u32::try_from(answer).unwrap_or(0))
    };
    Ok((ask(VERSION)?, ask(ERRATA).unwrap_or(0)))
}

/// Runs attempts in a child. What it did not report, because it was killed, has failed.
///
/// # Errors
/// There is no child.
fn in_child<const N: usize>(
    namespaces: Namespaces,
    attempts: impl FnOnce() -> [Tried; N],
) -> Result<[Tried; N], Errno> {
    let (from_child, to_parent) = pipe_with(PipeFlags::CLOEXEC)?;
    let Some(child) = fork_into(namespaces).map_err(|error| number(&error))? else {
        for tried in attempts() {
            let _written = rustix::io::write(&to_parent, &tried.code().to_ne_bytes());
        }
        end(0)
    };
    drop(to_parent);
    let tried = read(from_child);
    let _status = rustix::process::waitpid(Some(child), WaitOptions::empty());
    Ok(tried)
}

fn read<const N: usize>(from: OwnedFd) -> [Tried; N] {
    let (mut from, mut code) = (File::from(from), [0; 4]);
    std::array::from_fn(|_| match from.read_exact(&mut code) {
        Ok(()) => Tried::of(i32::from_ne_bytes(code)),
        Err(_) => Tried::Fails(Errno::CANCELED),
    })
}

fn number(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::CANCELED)
}

fn check(answer: libc::c_long) -> Result<libc::c_long, Errno> {
    if answer < 0 { Err(number(&io::Error::last_os_error())) } else { Ok(answer) }
}

/// What is written to map the own ids, made before the fork.
struct Ids {
    user: String,
    group: String,
}

impl Ids {
    fn own() -> Self {
        let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
        let (user, group) = (user.as_raw(), group.as_raw());
        Self { user: format!("{user} {user} 1"), group: format!("{group} {group} 1") }
    }

    fn map(&self) -> Result<(), Errno> {
        write(c"/proc/self/setgroups", b"deny")?;
        write(c"/proc/self/uid_map", self.user.as_bytes())?;
        write(c"/proc/self/gid_map", self.group.as_bytes())
    }
}

fn write(path: &CStr, text: &[u8]) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file.as_fd(), text).map(|_| ())
}

fn mount_proc() -> Result<(), Errno> {
    rustix::mount::mount(c"proc", c"/proc", c"proc", MountFlags::empty(), None)
}

/// Mounts an overlay in a file system of its own that nobody else sees.
fn mount_overlay() -> Result<(), Errno> {
    const OPTIONS: &CStr = c"lowerdir=/tmp/l,upperdir=/tmp/u,workdir=/tmp/w,userxattr";
    rustix::mount::mount(c"tmpfs", c"/tmp", c"tmpfs", MountFlags::empty(), None)?;
    for directory in [c"/tmp/l", c"/tmp/u", c"/tmp/w", c"/tmp/m"] {
        rustix::fs::mkdir(directory, Mode::RWXU)?;
    }
    rustix::mount::mount(c"overlay", c"/tmp/m", c"overlay", MountFlags::empty(), OPTIONS)
}

fn turn_read_only() -> Result<(), Errno> {
    let set = Attributes::READ_ONLY | Attributes::NO_SETUID;
    let all = Attributes { set, recursive: true, ..Attributes::default() };
    set_attributes(CWD, c"/", all).map_err(|error| number(&error))
}

/// Installs a filter that allows everything.
fn install(flags: libc::c_ulong) -> Result<(), Errno> {
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    let mut allow = libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: libc::SECCOMP_RET_ALLOW };
    let program = libc::sock_fprog { len: 1, filter: &raw mut allow };
    let (set, program) = (libc::SECCOMP_SET_MODE_FILTER, &raw const program);
    // SAFETY: `program` points to one instruction, and both live until the call returns. It allows every call.
    let answer = unsafe { libc::syscall(libc::SYS_seccomp, set, flags, program) };
    check(answer).map(|_| ())
}
