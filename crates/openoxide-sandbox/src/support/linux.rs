//! What a Linux kernel lets this process do: attempts, and their failures in words.

use std::fs;

use rustix::io::Errno;

use super::{Able, Lack, Landlock, Support, bubblewrap};
use crate::sys::probe::{self, Steps, Tried};

/// Tries everything.
pub(super) fn probe() -> Support {
    let release = setting("/proc/sys/kernel/osrelease").unwrap_or_default();
    let tried = probe::namespaces();
    let (filter, listener) = probe::seccomp();
    let namespaces = namespaces(&tried, &release);
    let inside = |tried, words: fn(Errno) -> Lack| match (&namespaces, tried) {
        (Err(_), Tried::Never) => Err(Lack::new("it needs own namespaces")),
        (_, tried) => able(tried, words),
    };
    Support {
        system: format!("Linux {release}"),
        is_root: rustix::process::geteuid().is_root(),
        fresh_proc: inside(tried.fresh_proc, no_proc),
        overlay: inside(tried.overlay, no_overlay),
        namespaces,
        seccomp: able(filter, no_filter),
        notification: able(listener, no_listener),
        landlock: landlock(),
        bubblewrap: bubblewrap::probe(),
        seatbelt: Err(Lack::new("it belongs to macOS")),
    }
}

fn able(tried: Tried, words: fn(Errno) -> Lack) -> Able {
    match tried {
        Tried::Works => Ok(()),
        Tried::Fails(error) => Err(words(error)),
        Tried::Never => Err(Lack::new("what comes before it failed")),
    }
}

/// Reads a small file of /proc in one line.
fn setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn is(path: &str, value: &str) -> bool {
    setting(path).is_some_and(|text| text == value)
}

fn namespaces(tried: &Steps, release: &str) -> Able {
    if release.ends_with("-Microsoft") {
        let lack = Lack::new("WSL 1 has no kernel of its own, and no namespaces");
        return Err(lack.help("`wsl --set-version DISTRIBUTION 2`"));
    }
    able(tried.made, not_made)?;
    able(tried.mapped, not_privileged)?;
    able(tried.mounts, not_privileged)?;
    able(tried.read_only, no_read_only)
}

/// The kinds of namespaces that are needed, as the kernel's limits call them.
const KINDS: [&str; 5] = ["user", "mnt", "pid", "ipc", "net"];
const CLONE: &str = "/proc/sys/kernel/unprivileged_userns_clone";
const APPARMOR: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

fn not_made(error: Errno) -> Lack {
    let none = |kind: &&str| is(&format!("/proc/sys/user/max_{kind}_namespaces"), "0");
    match error {
        Errno::NOSPC => match KINDS.into_iter().find(none) {
            Some(kind) => {
                Lack::new(format!("`user.max_{kind}_namespaces` is 0: this kind is turned off"))
                    .help(format!("`sysctl user.max_{kind}_namespaces=15000` as root"))
            }
            None => Lack::new("there are as many namespaces as `user.max_*_namespaces` allow"),
        },
        Errno::PERM if is(CLONE, "0") => {
            Lack::new("`kernel.unprivileged_userns_clone` is 0: only root makes user namespaces")
                .help("`sysctl kernel.unprivileged_userns_clone=1` as root")
        }
        Errno::PERM | Errno::ACCESS => around(error, "user namespaces"),
        Errno::USERS => Lack::new("user namespaces are nested too deep here"),
        Errno::NOSYS => Lack::new(
            "there is no clone3(2): the kernel is older than 5.3, or a container hides it",
        )
        .help("in a container: let its seccomp profile allow `clone3`"),
        Errno::INVAL => Lack::new("the kernel was built without some kind of namespace"),
        error => Lack::new(format!("namespaces cannot be made: {error}")),
    }
}

fn not_privileged(error: Errno) -> Lack {
    if is(APPARMOR, "1") {
        return Lack::new("AppArmor leaves user namespaces without any right (`kernel.apparmor_restrict_unprivileged_userns` is 1)")
            .help("install bubblewrap, whose system copy has a profile; or give openoxide one with `userns,` in /etc/apparmor.d");
    }
    match error {
        Errno::NOENT => Lack::new("there is no /proc"),
        Errno::PERM | Errno::ACCESS => around(error, "what has to be done in own namespaces"),
        error => Lack::new(format!("own namespaces have no rights: {error}")),
    }
}

/// What holds this process already: the kernel does not say what it is.
fn around(error: Errno, what: &str) -> Lack {
    Lack::new(format!("something around this process forbids {what}: {error}"))
        .help("in a container: let its seccomp profile allow `unshare` and `mount`; or leave files to the container (external-sandbox)")
}

fn no_read_only(error: Errno) -> Lack {
    match error {
        Errno::NOSYS => Lack::new("the kernel has no mount_setattr(2)").help("Linux 5.12 has it"),
        error => Lack::new(format!("mounts cannot be made read-only: {error}")),
    }
}

fn no_proc(error: Errno) -> Lack {
    match error {
        Errno::PERM => Lack::new(
            "a new /proc is refused, because parts of this one are covered, as containers do",
        )
        .help("Docker: `--security-opt systempaths=unconfined`; Kubernetes: `procMount: Unmasked`"),
        error => Lack::new(format!("a new /proc cannot be mounted: {error}")),
    }
}

fn no_overlay(error: Errno) -> Lack {
    match error {
        Errno::NODEV => Lack::new("the kernel has no overlayfs").help("`modprobe overlay` as root"),
        Errno::PERM | Errno::INVAL => {
            Lack::new(format!("overlays are refused in own namespaces: {error}"))
                .help("Linux 5.11 allows them")
        }
        error => Lack::new(format!("an overlay cannot be mounted: {error}")),
    }
}

fn no_filter(error: Errno) -> Lack {
    match error {
        Errno::NOSYS | Errno::INVAL => Lack::new("the kernel was built without seccomp filters"),
        error => Lack::new(format!("a seccomp filter cannot be installed: {error}")),
    }
}

fn no_listener(error: Errno) -> Lack {
    match error {
        Errno::BUSY => Lack::new("its one place is taken by a supervisor around this process")
            .help("run outside of that sandbox; under WSL 2: `networkingMode=nat` in .wslconfig"),
        Errno::INVAL => {
            Lack::new("the kernel has no seccomp notification").help("Linux 5.0 has it")
        }
        error => Lack::new(format!("a listener cannot be made: {error}")),
    }
}

fn landlock() -> Able<Landlock> {
    let found = probe::landlock().map(|(abi, errata)| Landlock { abi, errata });
    found.map_err(|error| match error {
        Errno::NOSYS => Lack::new(
            "the kernel was built without Landlock, or something around this process hides it",
        )
        .help("Linux 5.13 has it (CONFIG_SECURITY_LANDLOCK)"),
        Errno::OPNOTSUPP => Lack::new("Landlock was not turned on when the kernel started")
            .help("add `landlock` to the kernel's `lsm=`"),
        error => Lack::new(format!("Landlock does not answer: {error}")),
    })
}
