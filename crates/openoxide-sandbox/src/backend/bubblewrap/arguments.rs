//! The words that `bwrap` is called with (bwrap(1)). They are done in order: what comes later lies on top.

use std::{collections::BTreeMap, ffi::OsString, fmt};

use openoxide_protocol::{AbsPath, Confined, Network, Temp};

use super::BWRAP;
use crate::Launch;

/// What lies at a path of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing.
    Missing,
    /// A directory.
    Directory,
    /// Anything else but a symbolic link.
    File,
    /// A symbolic link.
    Link,
}

impl Kind {
    /// Looks at a path. What cannot be looked at counts as a link: it is refused.
    #[must_use]
    pub fn of(path: &AbsPath) -> Self {
        match std::fs::symlink_metadata(path.as_str()) {
            Ok(found) if found.is_dir() => Self::Directory,
            Ok(found) if !found.is_symlink() => Self::File,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::Missing,
            Ok(_) | Err(_) => Self::Link,
        }
    }
}

/// Descriptors that `bwrap` inherits. It closes them before the program.
#[derive(Clone, Copy, Debug)]
pub struct Channels {
    /// Where it reads the filter of system calls: [`super::filter`].
    pub filter: i32,
    /// Where it writes how it went, as JSON: an `exit-code` stands there only if the program was reached. Its own failures
    /// are told from the program's by that, never by words.
    pub status: i32,
}

/// A path of a profile that cannot be held: it is a symbolic link, and the profile would mean another place than it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotCallable(pub AbsPath);

impl fmt::Display for NotCallable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` cannot be held: it is a symbolic link, or cannot be looked at", self.0)
    }
}

impl std::error::Error for NotCallable {}

/// Returns the whole command: `bwrap`, its options, and the program. It is to be started with the environment of the launch and no
/// other, and with no other descriptors than the standard ones and `channels`.
///
/// For protected paths that are missing `bwrap` makes empty directories on the host; the caller removes them at the end.
///
/// # Errors
/// A path of the profile is a symbolic link.
pub fn arguments(
    launch: &Launch,
    channels: Channels,
    kind: impl Fn(&AbsPath) -> Kind,
) -> Result<Vec<OsString>, NotCallable> {
    let profile = &launch.profile;
    let mut words = Words::default();
    words.all(&[
        BWRAP,
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-cgroup-try",
    ]);
    if profile.network != Network::On {
        words.all(&["--unshare-net"]);
    }
    words.all(&["--new-session", "--die-with-parent", "--cap-drop", "ALL", "--ro-bind", "/", "/"]);
    system(profile, &mut words);
    writable(launch, &mut words);
    protected(profile, &kind, &mut words)?;
    unreadable(profile, &kind, &mut words)?;
    words.all(&["--chdir", launch.cwd.as_str()]);
    words.all(&["--seccomp", &channels.filter.to_string()]);
    words.all(&["--json-status-fd", &channels.status.to_string(), "--"]);
    words.0.extend(launch.argv.iter().cloned());
    Ok(words.0)
}

#[derive(Default)]
struct Words(Vec<OsString>);

impl Words {
    fn all(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    /// Mounts a path over itself.
    fn bind(&mut self, option: &str, path: &AbsPath) {
        self.all(&[option, path.as_str(), path.as_str()]);
    }

    /// Covers a path with an empty directory that cannot be changed.
    fn cover(&mut self, permissions: &str, path: &AbsPath) {
        let path = path.as_str();
        self.all(&["--perms", permissions, "--tmpfs", path, "--remount-ro", path]);
    }
}

/// Settings of the kernel: a new /proc shows them to be written, and to root the kernel obeys (`core_pattern` names a program that
/// the host runs as root).
const SETTINGS: &[&str] = &[
    "/proc/sys",
    "/proc/sysrq-trigger",
    "/proc/irq",
    "/proc/bus",
    "/proc/fs",
    "/proc/acpi",
    "/proc/scsi",
];

const TEMPORARY: &[&str] = &["/tmp", "/var/tmp"];

/// Makes /dev, /proc and the directories for temporary files.
fn system(profile: &Confined, words: &mut Words) {
    words.all(&["--dev", "/dev", "--remount-ro", "/dev", "--proc", "/proc"]);
    for path in SETTINGS {
        words.all(&["--ro-bind-try", path, path]);
    }
    if profile.temp == Temp::Private {
        for path in TEMPORARY.iter().chain(&["/dev/shm"]) {
            words.all(&["--perms", "1777", "--tmpfs", path]);
        }
    }
}

/// Binds what may be written; and the working directory, where a private directory for temporary files would hide it.
fn writable(launch: &Launch, words: &mut Words) {
    let profile = &launch.profile;
    for root in profile.writable.iter().filter(|root| profile.may_write(root)) {
        words.bind("--bind", root);
    }
    let hidden =
        profile.temp == Temp::Private && TEMPORARY.iter().any(|place| is_below(&launch.cwd, place));
    if hidden && !profile.may_write(&launch.cwd) {
        words.bind("--ro-bind", &launch.cwd);
    }
}

fn is_below(path: &AbsPath, place: &str) -> bool {
    path.as_str().strip_prefix(place).is_some_and(|rest| rest.starts_with('/'))
}

/// How a path inside a writable directory is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Keep {
    /// It is a mount point, and so cannot be moved away with what lies in it.
    Pinned,
    /// It cannot be changed.
    ReadOnly,
    /// It is missing and cannot be made.
    Covered,
}

/// Keeps protected paths, and unreadable ones that are missing, with the directories that lead to them. Outer ones come first.
fn protected(
    profile: &Confined,
    kind: &impl Fn(&AbsPath) -> Kind,
    words: &mut Words,
) -> Result<(), NotCallable> {
    let mut kept = BTreeMap::new();
    for path in profile.protected.iter().chain(&profile.unreadable) {
        keep(path, profile, kind, &mut kept)?;
    }
    for (path, keep) in &kept {
        match keep {
            Keep::Pinned => words.bind("--bind", path),
            Keep::ReadOnly => words.bind("--ro-bind", path),
            Keep::Covered => words.cover("555", path),
        }
    }
    Ok(())
}

fn keep(
    path: &AbsPath,
    profile: &Confined,
    kind: &impl Fn(&AbsPath) -> Kind,
    kept: &mut BTreeMap<AbsPath, Keep>,
) -> Result<(), NotCallable> {
    let Some(root) = profile.writable.iter().find(|root| path.below(root).is_some()) else {
        return Ok(());
    };
    if !path.parent().is_some_and(|parent| profile.may_write(&parent)) {
        return Ok(()); // What holds a directory above holds this.
    }
    let between = std::iter::successors(path.parent(), AbsPath::parent)
        .take_while(|above| above != root && above.below(root).is_some());
    let mut way: Vec<_> = between.collect();
    way.reverse();
    for directory in way {
        match kind(&directory) {
            Kind::Directory => strictest(kept, directory, Keep::Pinned),
            // Whoever cannot make the first directory of a way makes nothing at its end.
            Kind::Missing => return Ok(strictest(kept, directory, Keep::Covered)),
            Kind::File => return Ok(()),
            Kind::Link => return Err(NotCallable(directory)),
        }
    }
    match kind(path) {
        Kind::Directory | Kind::File => strictest(kept, path.clone(), Keep::ReadOnly),
        Kind::Missing => strictest(kept, path.clone(), Keep::Covered),
        Kind::Link => return Err(NotCallable(path.clone())),
    }
    Ok(())
}

fn strictest(kept: &mut BTreeMap<AbsPath, Keep>, path: AbsPath, keep: Keep) {
    let entry = kept.entry(path).or_insert(keep);
    *entry = keep.max(*entry);
}

/// Hides what must not be read, on top of everything else.
fn unreadable(
    profile: &Confined,
    kind: &impl Fn(&AbsPath) -> Kind,
    words: &mut Words,
) -> Result<(), NotCallable> {
    for path in &profile.unreadable {
        match kind(path) {
            Kind::Directory => words.cover("000", path),
            // A device that is mounted without devices: it cannot be opened.
            Kind::File => words.all(&["--ro-bind", "/dev/null", path.as_str()]),
            Kind::Missing => {}
            Kind::Link => return Err(NotCallable(path.clone())),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
