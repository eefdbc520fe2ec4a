//! The options for `bwrap` (bwrap(1)). `bwrap` processes them in order: a later mount covers an
//! earlier one.

use std::{
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
};

use openoxide_protocol::{AbsPath, NetworkAccess, SandboxRestrictions, TempDirectories};

use crate::{
    interface::LaunchConfig,
    protected_paths::MountPlan,
    seccomp::{FilterOptions, NotifiedChanges, build_filter},
};

/// The kind of entry at a path of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostEntryKind {
    /// No entry.
    Missing,
    /// A directory.
    Directory,
    /// A file of any other type, except a symbolic link.
    File,
    /// A symbolic link.
    Link,
}

impl HostEntryKind {
    /// Returns the kind of entry at a path. An entry that cannot be inspected is reported as a
    /// link, which is refused.
    #[must_use]
    pub(crate) fn from_path(path: &Path) -> Self {
        match std::fs::symlink_metadata(path) {
            Ok(found) if found.is_dir() => Self::Directory,
            Ok(found) if !found.is_symlink() => Self::File,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Missing,
            Ok(_) | Err(_) => Self::Link,
        }
    }
}

/// The descriptors that `bwrap` inherits. It closes them before it starts the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BwrapDescriptors {
    /// The descriptor from which `bwrap` reads the seccomp filter: [`build_seccomp_filter`].
    pub(crate) filter: i32,
    /// The descriptor to which `bwrap` writes its status as JSON. `exit-code` is present only if
    /// the program was started. This distinguishes failures of `bwrap` from failures of the
    /// program, without parsing messages.
    pub(crate) status: i32,
    /// The descriptor that `bwrap` reads from before it starts the program. The limits are set by
    /// then.
    pub(crate) start_gate: i32,
}

/// A path that `bwrap` cannot mount: it is a symbolic link or cannot be accessed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnmountablePath(pub(crate) PathBuf);

impl fmt::Display for UnmountablePath {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0.display();
        write!(out, "bwrap cannot mount `{path}`: it is a symbolic link or cannot be accessed")
    }
}

impl std::error::Error for UnmountablePath {}

/// Returns the options of `bwrap`, for its `--args`. They contain the environment, and every user
/// can read a command line. `bwrap` itself must be started with an empty environment, because it
/// would obey variables outside of the sandbox. Missing paths of `guards` have their placeholders
/// by then.
///
/// # Errors
/// Returns an error if one of the paths is a symbolic link, which `bwrap` would follow.
pub(crate) fn build_arguments(
    launch: &LaunchConfig,
    guards: &MountPlan,
    channels: BwrapDescriptors,
    kind: impl Fn(&Path) -> HostEntryKind,
) -> Result<Vec<OsString>, UnmountablePath> {
    let mut words = BwrapArguments::default();
    push_namespaces(&launch.profile, &mut words);
    push_system_mounts(&launch.profile, &mut words);
    push_writable_binds(launch, &mut words);
    push_protected_binds(guards, &kind, &mut words)?;
    push_hidden_paths(&launch.profile, &kind, &mut words)?;
    words.push_all(&["--chdir", launch.cwd.as_str()]);
    for (name, value) in &launch.environment {
        words.0.extend(["--setenv".into(), name.clone(), value.clone()]);
    }
    words.push_all(&["--seccomp", &channels.filter.to_string()]);
    words.push_all(&["--json-status-fd", &channels.status.to_string()]);
    words.push_all(&["--block-fd", &channels.start_gate.to_string()]);
    Ok(words.0)
}

#[derive(Default)]
struct BwrapArguments(Vec<OsString>);

impl BwrapArguments {
    fn push_all(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    /// Adds a bind mount of a path over itself.
    fn bind(&mut self, option: &str, path: &Path) {
        self.0.extend([option.into(), path.into(), path.into()]);
    }

    /// Covers a directory with an empty one that cannot be read.
    fn hide(&mut self, path: &AbsPath) {
        let path = path.as_str();
        self.push_all(&["--perms", "000", "--tmpfs", path, "--remount-ro", path]);
    }
}

/// Kernel settings. They are writable in a new /proc, and the kernel accepts changes by root
/// (`core_pattern` names a program that the host runs as root).
const KERNEL_SETTINGS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
];

const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// Adds options for new namespaces, and for a read-only root.
fn push_namespaces(profile: &SandboxRestrictions, words: &mut BwrapArguments) {
    const OWN: &[&str] = &[
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ];
    words.push_all(OWN);
    if profile.network != NetworkAccess::On {
        words.push_all(&["--unshare-net"]);
    }
    words.push_all(&[
        "--new-session",
        "--die-with-parent",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
    ]);
}

/// Adds options for /dev, /proc and the directories for temporary files.
fn push_system_mounts(profile: &SandboxRestrictions, words: &mut BwrapArguments) {
    words.push_all(&["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc"]);
    for path in KERNEL_SETTINGS {
        words.push_all(&["--ro-bind-try", path, path]);
    }
    if profile.temp == TempDirectories::Private {
        for path in TEMPORARY.iter().chain(&["/dev/shm"]) {
            words.push_all(&["--perms", "1777", "--tmpfs", path]);
        }
    }
}

/// Adds bind mounts for the writable paths. If a private directory for temporary files would hide
/// the visible paths or the working directory, they are mounted too.
fn push_writable_binds(launch: &LaunchConfig, words: &mut BwrapArguments) {
    let profile = &launch.profile;
    let is_hidden = |path: &AbsPath| {
        profile.temp == TempDirectories::Private
            && TEMPORARY.iter().any(|place| is_below(path, place))
    };
    for path in
        launch.visible_paths.iter().filter(|path| is_hidden(path) && !profile.may_write(path))
    {
        words.bind("--ro-bind-try", Path::new(path.as_str()));
    }
    for root in profile.writable.iter().filter(|root| profile.may_write(root)) {
        words.bind("--bind", Path::new(root.as_str()));
    }
    if is_hidden(&launch.cwd) && !profile.may_write(&launch.cwd) {
        words.bind("--ro-bind", Path::new(launch.cwd.as_str()));
    }
}

fn is_below(path: &AbsPath, place: &str) -> bool {
    path.as_str().strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
}

/// Makes the directories above a guarded path mount points, and covers each guarded path with a
/// read-only bind mount of itself.
fn push_protected_binds(
    mounted: &MountPlan,
    kind: &impl Fn(&Path) -> HostEntryKind,
    words: &mut BwrapArguments,
) -> Result<(), UnmountablePath> {
    let pins = mounted.pins.iter().map(|path| ("--bind", path));
    // `bwrap` cannot mount a link, so there is no private copy of configuration and hooks.
    let hooks = mounted.private_hooks.iter().map(|one| &one.path);
    let private = mounted.private_configs.iter().map(|one| &one.path).chain(hooks);
    let guards = mounted.guards.iter().chain(private).map(|path| ("--ro-bind", path));
    for (option, path) in pins.chain(guards) {
        match kind(path) {
            HostEntryKind::Directory | HostEntryKind::File => words.bind(option, path),
            HostEntryKind::Missing | HostEntryKind::Link => {
                return Err(UnmountablePath(path.clone()));
            }
        }
    }
    Ok(())
}

/// Hides unreadable paths, on top of all other mounts.
fn push_hidden_paths(
    profile: &SandboxRestrictions,
    kind: &impl Fn(&Path) -> HostEntryKind,
    words: &mut BwrapArguments,
) -> Result<(), UnmountablePath> {
    for path in &profile.unreadable {
        match kind(Path::new(path.as_str())) {
            HostEntryKind::Directory => words.hide(path),
            // A device on a mount without devices, which cannot be opened.
            HostEntryKind::File => words.push_all(&["--ro-bind", "/dev/null", path.as_str()]),
            HostEntryKind::Missing => {}
            HostEntryKind::Link => return Err(UnmountablePath(path.as_str().into())),
        }
    }
    Ok(())
}

/// Returns the seccomp filter for `--seccomp`.
pub(super) fn build_seccomp_filter() -> Vec<u8> {
    // The first process of `bwrap` is not under the filter, and the program could trace it.
    build_filter(FilterOptions {
        notify_connect: false,
        notified_changes: NotifiedChanges::None,
        allow_tracing: false,
    })
    .to_bytes()
}

#[cfg(test)]
mod tests;
