//! The sandbox profile of a decision: what it allows, intersected with what the policy and the caller restrict.

use std::{collections::BTreeSet, fs, path::Path};

use openoxide_permission::{Ground, HomeDirectories, confine};
use openoxide_protocol::{AbsPath, Confined, Decision, Network, SandboxProfile, Temp};
use openoxide_store::{NetworkSetting, SandboxSettings};

use crate::{CheckHost, Engine, ProfileError, Warning, seen};

/// How a caller restricts a sandbox beyond the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxRestriction {
    /// Not at all.
    AsDecided,
    /// Nothing is writable.
    ReadOnly,
}

impl Engine {
    /// Returns the profile that a permitted command runs under.
    ///
    /// # Errors
    /// When the whole file system would be writable: then nothing may be run.
    pub fn sandbox_profile(
        &self,
        decision: &Decision,
        restriction: SandboxRestriction,
        host: &dyn CheckHost,
    ) -> Result<Option<Confined>, ProfileError> {
        let environment = self.environment();
        let (own, user) = (environment.own_directories(), environment.home_directories());
        let settings = self.sandbox_settings();
        let writable: Vec<AbsPath> = settings.writable.iter().cloned().collect();
        let ground = Ground { own: &own, writable: &writable, ..self.ground(&user) };
        let seen = seen(&ground);
        if seen.more {
            host.warn(Warning::NotAllSeen);
        }
        let ground = Ground { seen: &seen.unreadable, kept: &seen.kept, ..ground };
        let derived = confine(&ground, decision);
        let open = derived.confined().map(|held| held.writable.clone()).unwrap_or_default();
        let derived = derived.intersect(&settings_profile(settings, &open));
        let restricted = match restriction {
            SandboxRestriction::AsDecided => SandboxProfile::DangerFullAccess,
            SandboxRestriction::ReadOnly => {
                let network =
                    derived.confined().map(|held| held.network.clone()).unwrap_or_default();
                SandboxProfile::Confined(Confined { network, ..Confined::default() })
            }
        };
        derived.intersect(&restricted).confined().map(resolved).transpose()
    }

    /// Returns whether a rule denies reading something.
    #[must_use]
    pub fn denies_reading(&self) -> bool {
        self.ground(&HomeDirectories::default()).denies_reading()
    }

    fn ground<'a>(&'a self, user: &'a HomeDirectories) -> Ground<'a> {
        let network = self.sandbox_settings().network;
        Ground {
            policy: &self.loaded.policy,
            layers: &self.loaded.layers,
            context: self.context_in(&self.options.cwd, &self.roots),
            home: self.home(),
            user,
            own: &[],
            seen: &[],
            kept: &[],
            writable: &[],
            all_hosts: network == Some(NetworkSetting::Internet),
            host_network: network == Some(NetworkSetting::Host),
        }
    }
}

/// Returns what the policy's settings restrict. What is not in `open` is read-only anyway: it need not be protected.
fn settings_profile(settings: &SandboxSettings, open: &BTreeSet<AbsPath>) -> SandboxProfile {
    let is_open = |path: &&AbsPath| open.iter().any(|base| path.below(base).is_some());
    let network = match settings.network {
        Some(NetworkSetting::Off) => Network::Off,
        Some(NetworkSetting::Hosts | NetworkSetting::Internet | NetworkSetting::Host) | None => {
            Network::On
        }
    };
    SandboxProfile::Confined(Confined {
        writable: [AbsPath::root()].into(),
        protected: settings.protected.iter().filter(is_open).cloned().collect(),
        unreadable: settings.unreadable.clone(),
        network,
        temp: Temp::Private,
    })
}

/// Returns a profile with links resolved. Writable and unreadable paths that do not exist are left out.
fn resolved(profile: &Confined) -> Result<Confined, ProfileError> {
    let there = |paths: &BTreeSet<AbsPath>| paths.iter().filter_map(existing_path).collect();
    let writable: BTreeSet<AbsPath> = there(&profile.writable);
    if writable.contains(&AbsPath::root()) {
        return Err(ProfileError::WritableRoot);
    }
    let mut protected = profile.protected.clone();
    protected.extend(profile.protected.iter().filter_map(in_real_directory));
    Ok(Confined { writable, protected, unreadable: there(&profile.unreadable), ..profile.clone() })
}

/// Returns a path with links resolved, if something is there.
#[must_use]
pub fn existing_path(path: &AbsPath) -> Option<AbsPath> {
    absolute(&fs::canonicalize(path.as_str()).ok()?)
}

/// Returns a path with links resolved; the path itself, if nothing is there.
#[must_use]
pub fn real_path(path: &AbsPath) -> AbsPath {
    existing_path(path).unwrap_or_else(|| path.clone())
}

/// Returns the same name in the directory that its directory really is.
fn in_real_directory(path: &AbsPath) -> Option<AbsPath> {
    Some(existing_path(&path.parent()?)?.join(path.name()?))
}

fn absolute(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
}
