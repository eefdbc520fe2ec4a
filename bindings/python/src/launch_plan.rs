//! The launch of an approved command: the restrictions of the kernel, the environment and the
//! visible directories.

use std::{collections::BTreeSet, ffi::OsString};

use openoxide_engine::{
    canonicalize_existing, canonicalize_or_keep, create_state_directory, private_directories,
    project_directory, registry_directory, sandbox_env, visible_temporary_paths,
};
use openoxide_permission::{
    EvaluationContext, PolicyStack, ProfileInput, derive_profile, hidden_secret_paths,
};
use openoxide_protocol::{
    AbsPath, Decision, NetworkAccess, PermissionMode, SandboxProfile, SandboxRestrictions,
    TempDirectories,
};
use openoxide_sandbox::{LaunchConfig, ResourceLimits, project_layer_directory};
use openoxide_store::UserEnvironment;
use serde_json::Value;

use crate::shell_policy::ShellPolicy;

/// What the caller says about the launch of a command.
pub(crate) struct LaunchOptions {
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// Variables in addition to those that every confined program has.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The seconds after which all processes are killed.
    pub(crate) seconds: Option<u64>,
}

/// The permissions of an `OSProfile`.
pub(crate) struct ProfilePermissions {
    writable: BTreeSet<AbsPath>,
    protected: BTreeSet<AbsPath>,
    network: bool,
}

impl ProfilePermissions {
    /// Returns the permissions from their fields.
    pub(crate) fn from_json(value: &Value) -> Option<Self> {
        Some(Self {
            writable: parse_paths(value.get("writable")?)?,
            protected: parse_paths(value.get("protected")?)?,
            network: value.get("network")?.as_bool()?,
        })
    }

    /// Returns the restrictions that permit no more than the profile.
    ///
    /// # Errors
    /// Returns an error if a directory is not where it was when the profile was made.
    pub(crate) fn to_restrictions(&self) -> Result<SandboxRestrictions, String> {
        let mut writable = BTreeSet::new();
        for root in &self.writable {
            // A directory that does not exist yet cannot be made writable.
            let Some(real) = canonicalize_existing(root) else { continue };
            if is_below_any(&self.protected, root) {
                continue;
            }
            if real != *root {
                return Err(format!("`{root}` was replaced by a link to `{real}`"));
            }
            writable.insert(real);
        }
        if writable.contains(&AbsPath::root()) {
            return Err("the whole file system would be writable".to_owned());
        }
        let below = |path: &&AbsPath| is_below_any(&writable, path);
        Ok(SandboxRestrictions {
            protected: self.protected.iter().filter(below).cloned().collect(),
            unreadable: BTreeSet::new(),
            network: if self.network { NetworkAccess::Internet } else { NetworkAccess::Off },
            temp: TempDirectories::Private,
            writable,
        })
    }
}

/// Returns the launch of an approved command.
///
/// # Errors
/// Returns an error if the confinement cannot be planned. Nothing may be run then.
pub(crate) fn plan_launch(
    policy: &ShellPolicy,
    decision: &Decision,
    permissions: &ProfilePermissions,
    options: LaunchOptions,
) -> Result<LaunchConfig, String> {
    let environment = UserEnvironment::from_process();
    create_state_directory(&environment);
    let limits = permissions.to_restrictions()?;
    let derived = derive_restrictions(policy, decision, &limits, &environment)?;
    let profile = SandboxProfile::Confined(derived).intersect(&SandboxProfile::Confined(limits));
    let profile = profile.restrictions().ok_or("no profile can be derived")?.clone();
    let (home, cwd) = (policy.home(), canonicalize_or_keep(policy.cwd()));
    let registry = registry_directory(&environment).map_err(|error| error.to_string())?;
    Ok(LaunchConfig {
        ssh_agent: None,
        readable_copies: BTreeSet::new(),
        private_directories: private_directories(&profile, home, Some(decision)),
        private_base: home.and_then(canonicalize_existing),
        layer_directory: project_directory(&profile, &cwd)
            .and_then(|project| project_layer_directory(&registry, &project)),
        visible_paths: visible_paths(policy, home),
        saved_files: BTreeSet::new(),
        changeable_paths: BTreeSet::new(),
        staging_directory: None,
        argv: options.argv.into_iter().map(OsString::from).collect(),
        cwd,
        environment: with_variables(options.variables),
        terminal: false,
        has_reviewer: false,
        granted_sockets: BTreeSet::new(),
        reviews_file_changes: false,
        private_hosts: BTreeSet::new(),
        published_ports: BTreeSet::new(),
        published_on_listen: BTreeSet::new(),
        limits: ResourceLimits { seconds: options.seconds, ..ResourceLimits::default() },
        registry,
        profile,
    })
}

/// Returns the restrictions that the engine derives from a decision: steering files are protected,
/// and secrets are hidden, even if the command names them.
fn derive_restrictions(
    policy: &ShellPolicy,
    decision: &Decision,
    limits: &SandboxRestrictions,
    environment: &UserEnvironment,
) -> Result<SandboxRestrictions, String> {
    let (user, own) = (environment.home_directories(), environment.openoxide_directories());
    let rules: PolicyStack = policy.command_rules()?;
    let roots: Vec<_> = limits.writable.iter().cloned().collect();
    let (mode, cwd) = (PermissionMode::Default, policy.cwd());
    let input = ProfileInput {
        policy: &rules,
        layers: &[],
        context: EvaluationContext {
            mode,
            cwd,
            roots: &roots,
            policy_error: None,
            auto_allow: Default::default(),
        },
        home: policy.home(),
        home_directories: &user,
        openoxide_paths: &own,
        restricted_paths: &[],
        write_restricted_paths: &[],
        writable: &[],
        git_directories: &[],
        all_hosts: true,
        host_network: false,
    };
    let derived = derive_profile(&input, decision);
    let mut derived = derived.restrictions().ok_or("no profile can be derived")?.clone();
    derived.unreadable.extend(hidden_secret_paths(&user, None));
    derived.unreadable.extend(own);
    derived.unreadable = derived.unreadable.iter().filter_map(canonicalize_existing).collect();
    Ok(derived)
}

/// Returns the paths below the directories for temporary files that commands can read.
fn visible_paths(policy: &ShellPolicy, home: Option<&AbsPath>) -> BTreeSet<AbsPath> {
    let mut visible = visible_temporary_paths(None, home);
    let own = policy.sandbox_roots().chain([policy.cwd()]).filter_map(canonicalize_existing);
    visible.extend(own.filter(openoxide_sandbox::is_temporary));
    visible
}

fn with_variables(added: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let is_replaced = |name: &OsString| added.iter().any(|(other, _)| other == name);
    let mut all: Vec<_> = sandbox_env().filter(|(name, _)| !is_replaced(name)).collect();
    all.extend(added);
    all
}

fn parse_paths(value: &Value) -> Option<BTreeSet<AbsPath>> {
    let paths = value.as_array()?.iter();
    paths.map(|path| AbsPath::new(path.as_str()?).ok()).collect()
}

fn is_below_any(roots: &BTreeSet<AbsPath>, path: &AbsPath) -> bool {
    roots.iter().any(|root| path.strip_prefix(root).is_some())
}
