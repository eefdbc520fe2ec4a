//! The features of this machine, with a reason for each missing one.

mod bubblewrap;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other_systems;

use std::fmt;

/// The features that this machine offers to this process. Each one was probed, not guessed from
/// versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFeatures {
    /// The system and its version.
    pub system: String,
    /// True if this process runs as root.
    pub is_root: bool,
    /// User, mount, PID, IPC and network namespaces, in which mounts can be made read-only.
    pub namespaces: FeatureSupport,
    /// A new /proc, which shows only the processes of the namespace.
    pub fresh_proc: FeatureSupport,
    /// Seccomp filters that refuse system calls.
    pub seccomp: FeatureSupport,
    /// Seccomp notifications: another process is notified of system calls, and answers them.
    pub notification: FeatureSupport,
    /// Landlock, with its version.
    pub landlock: FeatureSupport<LandlockVersion>,
    /// Overlays in a new mount namespace, for staging.
    pub overlay: FeatureSupport,
    /// The system's `bwrap`, with its version.
    pub bubblewrap: FeatureSupport<BubblewrapVersion>,
    /// The `sandbox-exec` of macOS.
    pub seatbelt: FeatureSupport,
}

/// The support of a feature, or the reason why it is missing.
pub type FeatureSupport<T = ()> = Result<T, MissingFeature>;

/// The reason why a feature is missing, as text for a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFeature {
    /// The reason, in lower case and without a full stop.
    pub reason: String,
    /// A suggested fix, if one is known.
    pub help: Option<String>,
}

/// The Landlock version of this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LandlockVersion {
    /// The version of its ABI.
    pub abi: u32,
    /// The errata that are fixed, as bits.
    pub errata: u32,
}

/// A version of bubblewrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BubblewrapVersion(pub u32, pub u32, pub u32);

impl MissingFeature {
    pub(crate) fn new(why: impl Into<String>) -> Self {
        Self { reason: why.into(), help: None }
    }

    pub(crate) fn with_help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }
}

impl fmt::Display for MissingFeature {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.reason)
    }
}

impl HostFeatures {
    /// Returns the features of a machine that supports nothing.
    #[must_use]
    pub fn new_unsupported(system: &str, why: &str) -> Self {
        let lack = || MissingFeature::new(why);
        Self {
            system: system.to_owned(),
            is_root: false,
            namespaces: Err(lack()),
            fresh_proc: Err(lack()),
            seccomp: Err(lack()),
            notification: Err(lack()),
            landlock: Err(lack()),
            overlay: Err(lack()),
            bubblewrap: Err(lack()),
            seatbelt: Err(lack()),
        }
    }

    /// Returns the features of a machine that supports everything.
    pub(crate) const fn new_supported() -> Self {
        Self {
            system: String::new(),
            is_root: false,
            namespaces: Ok(()),
            fresh_proc: Ok(()),
            seccomp: Ok(()),
            notification: Ok(()),
            landlock: Ok(LandlockVersion { abi: 0, errata: 0 }),
            overlay: Ok(()),
            bubblewrap: Ok(BubblewrapVersion(0, 0, 0)),
            seatbelt: Ok(()),
        }
    }

    /// Returns the name of each feature that this system can have, with its details if it is
    /// supported.
    pub fn features(
        &self,
    ) -> impl Iterator<Item = (&'static str, Result<String, &MissingFeature>)> {
        fn plain(able: &FeatureSupport) -> Result<String, &MissingFeature> {
            able.as_ref().map(|()| String::new())
        }
        let landlock = self.landlock.as_ref();
        let landlock =
            landlock.map(|found| format!("version {}, errata {}", found.abi, found.errata));
        [
            ("namespaces", plain(&self.namespaces)),
            ("fresh-proc", plain(&self.fresh_proc)),
            ("seccomp", plain(&self.seccomp)),
            ("notification", plain(&self.notification)),
            ("landlock", landlock),
            ("overlay", plain(&self.overlay)),
            ("bubblewrap", self.bubblewrap.as_ref().map(|found| format!("version {found}"))),
            ("seatbelt", plain(&self.seatbelt)),
        ]
        .into_iter()
        .filter(|(name, _)| cfg!(target_os = "macos") == (*name == "seatbelt"))
    }
}
