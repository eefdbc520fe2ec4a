//! The sandbox profile of a decision, with the restrictions of the policy and the caller.

use std::{collections::BTreeSet, fs, path::Path};

use openoxide_permission::{HomeDirectories, ProfileInput, derive_profile, exactly_allowed_hosts};
use openoxide_protocol::{
    AbsPath, Access, CommandClass, Decision, Effect, HostPort, NetworkAccess, Obligation,
    SandboxProfile, SandboxRestrictions, TempDirectories, steering_files,
};
use openoxide_store::{NetworkSetting, SandboxSettings, find_linked_repository};

use crate::{
    check_host::CheckHost, engine::Engine, engine_warning::EngineWarning, error::ProfileError,
    own_directories::create_state_directory, path_scan::scan_restricted_paths,
    sandbox_directories::registry_directory,
};

/// The restrictions of a caller beyond those of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerRestriction {
    /// No further restrictions.
    AsDecided,
    /// No path is writable.
    ReadOnly,
    /// No path is writable, and no host can be reached.
    ReadOnlyOffline,
}

impl Engine {
    /// Returns the restriction of a permitted command. The sandbox also enforces that a read-only
    /// command that no rule allows changes nothing, so that an error of the analysis has no effect.
    /// If the policy confines commands instead of asking, this includes commands that a rule
    /// allows, and they reach no host.
    #[must_use]
    pub fn restriction_for(
        &self,
        decision: &Decision,
        restriction: CallerRestriction,
    ) -> CallerRestriction {
        if !is_read_only(decision) {
            restriction
        } else if self.replaces_questions() {
            CallerRestriction::ReadOnlyOffline
        } else if has_rule_match(decision) {
            restriction
        } else {
            CallerRestriction::ReadOnly
        }
    }

    /// Returns the profile of a permitted command.
    ///
    /// # Errors
    /// If the whole file system would be writable. Nothing may be run then.
    pub fn sandbox_profile(
        &self,
        decision: &Decision,
        restriction: CallerRestriction,
        host: &dyn CheckHost,
    ) -> Result<Option<SandboxRestrictions>, ProfileError> {
        let environment = self.environment();
        create_state_directory(environment);
        let (own, user) = (environment.openoxide_directories(), environment.home_directories());
        let settings = self.sandbox_settings();
        let writable: Vec<AbsPath> = settings.writable.iter().cloned().collect();
        let git_directories: Vec<AbsPath> =
            self.roots.iter().filter_map(find_linked_repository).collect();
        let ground = ProfileInput {
            openoxide_paths: &own,
            writable: &writable,
            git_directories: &git_directories,
            ..self.new_confine_input(&user)
        };
        let registry = registry_directory(environment).ok();
        let seen = scan_restricted_paths(&ground, registry.as_ref());
        if seen.is_truncated {
            host.warn(EngineWarning::ScanTruncated);
        }
        let ground = ProfileInput {
            restricted_paths: &seen.unreadable,
            write_restricted_paths: &seen.unwritable,
            ..ground
        };
        let derived = derive_profile(&ground, decision);
        let open = derived.restrictions().map(|held| held.writable.clone()).unwrap_or_default();
        let derived = derived.intersect(&settings_profile(settings, &open));
        let derived = if decision.obligations.contains(&Obligation::Sandboxed) {
            derived.intersect(&job_files_profile(&self.roots))
        } else {
            derived
        };
        let restricted = match restriction {
            CallerRestriction::AsDecided => SandboxProfile::DangerFullAccess,
            CallerRestriction::ReadOnly | CallerRestriction::ReadOnlyOffline => {
                let network = derived
                    .restrictions()
                    .filter(|_| restriction == CallerRestriction::ReadOnly)
                    .map(|held| held.network.clone())
                    .unwrap_or_default();
                SandboxProfile::Confined(SandboxRestrictions {
                    network,
                    ..SandboxRestrictions::default()
                })
            }
        };
        derived.intersect(&restricted).restrictions().map(with_resolved_paths).transpose()
    }

    /// Returns the hosts whose names may lead to private addresses: those that rules allow by their
    /// exact names.
    #[must_use]
    pub(crate) fn private_hosts(&self) -> BTreeSet<HostPort> {
        exactly_allowed_hosts(&self.new_confine_input(&HomeDirectories::default()))
    }

    /// Returns whether a rule denies reading a path.
    #[must_use]
    pub fn denies_reading(&self) -> bool {
        self.new_confine_input(&HomeDirectories::default()).has_read_deny()
    }

    /// Returns whether a rule that is not built in denies reading a file, or asks about it.
    pub(crate) fn restricts_reading(&self, path: &AbsPath) -> bool {
        self.new_confine_input(&HomeDirectories::default()).restricts_read(path)
    }

    fn new_confine_input<'a>(&'a self, user: &'a HomeDirectories) -> ProfileInput<'a> {
        let network = self.sandbox_settings().network;
        ProfileInput {
            policy: self.loaded_policy.policy_without_limited_grants(),
            layers: self.known_layers(),
            context: self.directory_context(&self.options.cwd, &self.roots),
            home: self.home(),
            home_directories: user,
            openoxide_paths: &[],
            restricted_paths: &[],
            write_restricted_paths: &[],
            writable: &[],
            git_directories: &[],
            all_hosts: network == Some(NetworkSetting::Internet),
            host_network: network == Some(NetworkSetting::Host),
        }
    }
}

/// Returns whether a decision allows only commands that change nothing, and reads.
pub(crate) fn is_read_only(decision: &Decision) -> bool {
    decision.effect == Effect::Allow
        && decision.parts.iter().all(|part| match &part.access {
            Access::Exec(exec) => exec.class == CommandClass::Harmless,
            Access::Read(_) | Access::ExternalDirectory(_) => true,
            Access::Edit(_)
            | Access::Fetch { .. }
            | Access::Socket(_)
            | Access::CallTool { .. }
            | Access::Delegate { .. }
            | Access::Repetition { .. }
            | Access::Opaque { .. } => false,
        })
}

/// Returns whether a rule decides about a part of a decision.
pub(crate) fn has_rule_match(decision: &Decision) -> bool {
    decision.parts.iter().any(|part| part.rule.is_some())
}

/// Returns the restrictions in the policy's settings. Paths outside of `open` are read-only in any
/// case and need no protection.
fn settings_profile(settings: &SandboxSettings, open: &BTreeSet<AbsPath>) -> SandboxProfile {
    let is_open = |path: &&AbsPath| open.iter().any(|base| path.strip_prefix(base).is_some());
    let network = match settings.network {
        Some(NetworkSetting::Off) => NetworkAccess::Off,
        Some(NetworkSetting::Hosts | NetworkSetting::Internet | NetworkSetting::Host) | None => {
            NetworkAccess::On
        }
    };
    SandboxProfile::Confined(SandboxRestrictions {
        writable: [AbsPath::root()].into(),
        protected: settings.protected.iter().filter(is_open).cloned().collect(),
        unreadable: settings.unreadable.clone(),
        network,
        temp: TempDirectories::Private,
    })
}

/// Returns a profile in which existing descriptions of jobs that other machines run cannot be
/// changed, such as `.github/workflows`. No person sees the changes of a command that needs no
/// approval.
fn job_files_profile(roots: &[AbsPath]) -> SandboxProfile {
    let paths = steering_files::job_files()
        .flat_map(|file| roots.iter().filter_map(move |root| file.resolve_in(root)));
    SandboxProfile::Confined(SandboxRestrictions {
        writable: [AbsPath::root()].into(),
        protected: paths.filter(|path| fs::symlink_metadata(path.as_str()).is_ok()).collect(),
        network: NetworkAccess::On,
        temp: TempDirectories::Private,
        ..SandboxRestrictions::default()
    })
}

/// Returns a profile with links resolved. Writable and unreadable paths that do not exist are left out.
fn with_resolved_paths(profile: &SandboxRestrictions) -> Result<SandboxRestrictions, ProfileError> {
    let there =
        |paths: &BTreeSet<AbsPath>| paths.iter().filter_map(canonicalize_existing).collect();
    let writable: BTreeSet<AbsPath> = there(&profile.writable);
    if writable.contains(&AbsPath::root()) {
        return Err(ProfileError::WritableRoot);
    }
    let mut protected = profile.protected.clone();
    protected.extend(profile.protected.iter().filter_map(canonicalize_parent));
    Ok(SandboxRestrictions {
        writable,
        protected,
        unreadable: there(&profile.unreadable),
        ..profile.clone()
    })
}

/// Returns a path with links resolved, if it exists.
#[must_use]
pub fn canonicalize_existing(path: &AbsPath) -> Option<AbsPath> {
    // Most paths are missing. `canonicalize` reads each of their parent directories as a link.
    fs::symlink_metadata(path.as_str()).ok()?;
    to_absolute_path(&fs::canonicalize(path.as_str()).ok()?)
}

/// Returns a path with links resolved, or the path itself if it does not exist.
#[must_use]
pub fn canonicalize_or_keep(path: &AbsPath) -> AbsPath {
    canonicalize_existing(path).unwrap_or_else(|| path.clone())
}

/// Returns the path with the links of its directory resolved.
fn canonicalize_parent(path: &AbsPath) -> Option<AbsPath> {
    Some(canonicalize_existing(&path.parent()?)?.join(path.file_name()?))
}

fn to_absolute_path(path: &Path) -> Option<AbsPath> {
    AbsPath::new(path.to_str()?).ok()
}
