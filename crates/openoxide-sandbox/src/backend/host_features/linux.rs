//! Probing of the features that a Linux kernel offers to this process, and messages for failures.

use std::fs;

use rustix::io::Errno;

use crate::{
    backend::{
        host_features::{
            FeatureSupport, HostFeatures, LandlockVersion, MissingFeature, bubblewrap,
        },
        nesting::is_in_sandbox,
    },
    sys::probe::{self, NamespaceProbe, ProbeResult},
};

impl HostFeatures {
    /// Probes all features, in child processes that end immediately. This takes about ten
    /// milliseconds, most of them for `bwrap`.
    #[must_use]
    pub fn probe() -> Self {
        let release = read_setting("/proc/sys/kernel/osrelease").unwrap_or_default();
        let tried = probe::probe_namespaces();
        let (filter, listener) = probe::probe_seccomp();
        let namespaces = namespace_support(&tried, &release);
        let inside = |tried, words: fn(Errno) -> MissingFeature| match (&namespaces, tried) {
            (Err(_), ProbeResult::NotAttempted) => Err(MissingFeature::new("requires namespaces")),
            (_, tried) => to_feature_support(tried, words),
        };
        Self {
            system: format!("Linux {release}"),
            is_root: rustix::process::geteuid().is_root(),
            fresh_proc: inside(tried.fresh_proc, explain_proc_error),
            overlay: inside(tried.overlay, explain_overlay_error),
            namespaces,
            seccomp: to_feature_support(filter, explain_filter_error),
            notification: to_feature_support(listener, explain_listener_error),
            landlock: landlock_support(),
            bubblewrap: bubblewrap::probe(),
            seatbelt: Err(MissingFeature::new("available only on macOS")),
        }
    }
}

fn to_feature_support(tried: ProbeResult, words: fn(Errno) -> MissingFeature) -> FeatureSupport {
    match tried {
        ProbeResult::Succeeded => Ok(()),
        ProbeResult::Failed(error) => Err(words(error)),
        ProbeResult::NotAttempted => Err(MissingFeature::new("an earlier requirement is not met")),
    }
}

/// Reads a small file of /proc as one line.
fn read_setting(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn has_setting(path: &str, value: &str) -> bool {
    read_setting(path).is_some_and(|text| text == value)
}

fn namespace_support(tried: &NamespaceProbe, release: &str) -> FeatureSupport {
    if is_in_sandbox() {
        let lack = MissingFeature::new("this is already a sandbox of OpenOxide");
        return Err(lack.with_help("run the command itself: it is confined, too"));
    }
    if release.ends_with("-Microsoft") {
        let lack = MissingFeature::new("WSL 1 does not support namespaces");
        return Err(lack.with_help("`wsl --set-version DISTRIBUTION 2`"));
    }
    to_feature_support(tried.created, explain_namespace_error)?;
    to_feature_support(tried.ids_mapped, explain_privilege_error)?;
    to_feature_support(tried.mounts, explain_privilege_error)?;
    to_feature_support(tried.remounted_read_only, explain_read_only_error)
}

/// The kinds of namespaces that are needed, with the names that the kernel's limits use.
const NAMESPACE_KINDS: [&str; 5] = ["user", "mnt", "pid", "ipc", "net"];
const USERNS_CLONE_SETTING: &str = "/proc/sys/kernel/unprivileged_userns_clone";
const APPARMOR_USERNS_SETTING: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";

fn explain_namespace_error(error: Errno) -> MissingFeature {
    let none = |kind: &&str| has_setting(&format!("/proc/sys/user/max_{kind}_namespaces"), "0");
    match error {
        Errno::NOSPC => match NAMESPACE_KINDS.into_iter().find(none) {
            Some(kind) => MissingFeature::new(format!(
                "`user.max_{kind}_namespaces` is 0: namespaces of this kind are disabled"
            ))
            .with_help(format!("`sysctl user.max_{kind}_namespaces=15000` as root")),
            None => {
                MissingFeature::new("the limit on namespaces (`user.max_*_namespaces`) is reached")
            }
        },
        Errno::PERM if has_setting(USERNS_CLONE_SETTING, "0") => MissingFeature::new(
            "`kernel.unprivileged_userns_clone` is 0: only root can create user namespaces",
        )
        .with_help("`sysctl kernel.unprivileged_userns_clone=1` as root"),
        Errno::PERM | Errno::ACCESS => describe_outer_sandbox(error, "user namespaces"),
        Errno::USERS => MissingFeature::new("user namespaces are nested too deeply"),
        Errno::NOSYS => MissingFeature::new(
            "clone3(2) is not available: the kernel is older than 5.3, or a container blocks it",
        )
        .with_help("in a container: let its seccomp profile allow `clone3`"),
        Errno::INVAL => MissingFeature::new("the kernel does not support all kinds of namespaces"),
        error => MissingFeature::new(format!("cannot create namespaces: {error}")),
    }
}

fn explain_privilege_error(error: Errno) -> MissingFeature {
    if has_setting(APPARMOR_USERNS_SETTING, "1") {
        return MissingFeature::new("AppArmor denies all capabilities in user namespaces \
                                    (`kernel.apparmor_restrict_unprivileged_userns` is 1)")
            .with_help("install bubblewrap, whose system copy has a profile; or give openoxide one with `userns,` in /etc/apparmor.d");
    }
    match error {
        Errno::NOENT => MissingFeature::new("/proc is not mounted"),
        Errno::PERM | Errno::ACCESS => {
            describe_outer_sandbox(error, "operations in the new namespaces")
        }
        error => MissingFeature::new(format!("no capabilities in the new namespaces: {error}")),
    }
}

/// Returns the error for a restriction that is already in force for this process. The kernel does
/// not report its source.
fn describe_outer_sandbox(error: Errno, what: &str) -> MissingFeature {
    MissingFeature::new(format!("an outer sandbox or container denies {what}: {error}"))
        .with_help("in a container: let its seccomp profile allow `unshare` and `mount`; or leave files to the container (external-sandbox)")
}

fn explain_read_only_error(error: Errno) -> MissingFeature {
    match error {
        Errno::NOSYS => MissingFeature::new("the kernel does not support mount_setattr(2)")
            .with_help("requires Linux 5.12"),
        error => MissingFeature::new(format!("cannot make mounts read-only: {error}")),
    }
}

fn explain_proc_error(error: Errno) -> MissingFeature {
    match error {
        Errno::PERM => MissingFeature::new(
            "cannot mount a new /proc, because parts of the existing one are masked, as in \
             containers",
        )
        .with_help(
            "Docker: `--security-opt systempaths=unconfined`; Kubernetes: `procMount: Unmasked`",
        ),
        error => MissingFeature::new(format!("cannot mount a new /proc: {error}")),
    }
}

fn explain_overlay_error(error: Errno) -> MissingFeature {
    match error {
        Errno::NODEV => MissingFeature::new("the kernel does not support overlayfs")
            .with_help("`modprobe overlay` as root"),
        Errno::PERM | Errno::INVAL => {
            MissingFeature::new(format!("cannot mount overlayfs in a user namespace: {error}"))
                .with_help("requires Linux 5.11")
        }
        error => MissingFeature::new(format!("cannot mount overlayfs: {error}")),
    }
}

fn explain_filter_error(error: Errno) -> MissingFeature {
    match error {
        Errno::NOSYS | Errno::INVAL => {
            MissingFeature::new("the kernel does not support seccomp filters")
        }
        error => MissingFeature::new(format!("cannot install a seccomp filter: {error}")),
    }
}

fn explain_listener_error(error: Errno) -> MissingFeature {
    match error {
        Errno::BUSY => MissingFeature::new("a parent process already installed a seccomp listener")
            .with_help(
                "run outside of that sandbox; under WSL 2: `networkingMode=nat` in .wslconfig",
            ),
        Errno::INVAL => MissingFeature::new("the kernel does not support seccomp notification")
            .with_help("requires Linux 5.0"),
        error => MissingFeature::new(format!("cannot create a seccomp listener: {error}")),
    }
}

fn landlock_support() -> FeatureSupport<LandlockVersion> {
    let found = probe::probe_landlock().map(|(abi, errata)| LandlockVersion { abi, errata });
    found.map_err(|error| match error {
        Errno::NOSYS => MissingFeature::new(
            "the kernel does not support Landlock, or an outer sandbox or container blocks it",
        )
        .with_help("requires Linux 5.13 with CONFIG_SECURITY_LANDLOCK"),
        Errno::OPNOTSUPP => MissingFeature::new("Landlock was not enabled when the kernel started")
            .with_help("add `landlock` to the kernel's `lsm=`"),
        error => MissingFeature::new(format!("cannot query Landlock: {error}")),
    })
}
