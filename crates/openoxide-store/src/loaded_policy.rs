//! The policy in force for a project, with all settings of its files.

use std::path::PathBuf;

use openoxide_permission::{Hook, Layer, PolicyStack};
use openoxide_protocol::{AbsPath, PermissionMode};
use serde::{Deserialize, Serialize};

use crate::{
    deferred_policy::DeferredPolicy,
    grant_file::GrantEntry,
    policy_file::{ManagedSettings, PolicyProblem, SandboxSettings},
    resolved_directory::ResolvedDirectory,
};

/// A loaded policy.
#[derive(Clone, Debug, Default)]
pub struct LoadedPolicy {
    /// The policy in force, including the limited grants.
    pub(crate) policy: PolicyStack,
    /// The layers, in descending order of precedence. Empty if the policy came from the cache.
    pub layers: Vec<Layer>,
    /// The hooks in force, in the order of the layers.
    pub hooks: Vec<Hook>,
    /// The hooks of projects that are ignored because they are not trusted. Empty if the policy
    /// came from the cache.
    pub untrusted_hooks: Vec<Hook>,
    /// The additional directories that are part of the project, both as written and resolved.
    pub roots: Vec<AbsPath>,
    /// Each directory that a file names, in the order of the layers. Empty if the policy came from
    /// the cache.
    pub directories: Vec<ResolvedDirectory>,
    /// The sandbox settings.
    pub sandbox: SandboxSettings,
    /// Each directory that a file makes writable in the sandbox, in the order of the layers. Empty
    /// if the policy came from the cache.
    pub writable: Vec<ResolvedDirectory>,
    /// The reason why nothing may be allowed: ask or deny rules may be missing.
    pub policy_error: Option<String>,
    /// The reason why every operation is denied: the managed policy has errors.
    pub managed_policy_error: Option<String>,
    /// The files with errors.
    pub broken_files: Vec<BrokenFile>,
    /// Further notes for the user.
    pub notes: Vec<String>,
    /// The projects with permissive settings that are not trusted.
    pub untrusted_projects: Vec<UntrustedProject>,
    /// The restrictions that an administrator sets for all users.
    pub managed: ManagedSettings,
    /// The locations of the settings that make every allow depend on an audit record. Empty if the
    /// policy came from the cache.
    pub audit: Vec<String>,
    /// The limited grants, and the policy without them.
    pub(crate) limited_grants: Option<LimitedGrants>,
    /// The tasks other than this one in which grants are valid.
    pub(crate) other_tasks: Vec<String>,
    /// True if the policy depends only on the files. A policy with hooks does not, because their
    /// scripts can change.
    pub(crate) is_cacheable: bool,
}

/// Grants that have a use limit, an expiry or a directory.
#[derive(Clone, Debug)]
pub(crate) struct LimitedGrants {
    /// The limited grants in force.
    pub(crate) entries: Vec<GrantEntry>,
    /// The policy without the limited grants.
    pub(crate) policy_without: DeferredPolicy,
}

/// A project whose permissive settings are ignored, because it is not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UntrustedProject {
    /// The project's directory.
    pub project: AbsPath,
    /// The settings, one line each.
    pub settings: Vec<String>,
}

/// A policy file with errors.
#[derive(Clone, Debug)]
pub struct BrokenFile {
    /// The path of the file.
    pub path: PathBuf,
    /// The text of the file. Empty if it could not be read.
    pub text: String,
    /// The problems in the file.
    pub problems: Vec<PolicyProblem>,
}

impl LoadedPolicy {
    /// Returns the policy that is used if even the built-in layer cannot be compiled. It allows
    /// nothing.
    pub(crate) fn closed() -> Self {
        let closed = Some("the built-in policy cannot be compiled".to_owned());
        Self { policy_error: closed.clone(), managed_policy_error: closed, ..Self::default() }
    }

    /// Returns the policy for an operation. `are_within_limits` receives the policy with all
    /// limited grants, and these grants. It returns whether the operation is within the limits of
    /// each grant that it would use; otherwise none of them applies. It is not called if there are
    /// no limited grants.
    #[must_use]
    pub fn policy_within_limits(
        &self,
        are_within_limits: impl FnOnce(&PolicyStack, &[GrantEntry]) -> bool,
    ) -> &PolicyStack {
        match &self.limited_grants {
            Some(limited) if !are_within_limits(&self.policy, &limited.entries) => {
                limited.policy_without.get_or_restrict(&self.policy)
            }
            _ => &self.policy,
        }
    }

    /// Returns the policy without the limited grants. It is used where no grant of a command
    /// applies: for the restrictions of a sandbox and for denied tools.
    #[must_use]
    pub fn policy_without_limited_grants(&self) -> &PolicyStack {
        let Some(limited) = &self.limited_grants else { return &self.policy };
        limited.policy_without.get_or_restrict(&self.policy)
    }

    /// Replaces the policy with one that has no limited grants.
    pub fn set_policy(&mut self, policy: PolicyStack) {
        self.policy = policy;
        self.limited_grants = None;
    }

    /// Returns the mode that the policy sets.
    #[must_use]
    pub fn mode(&self) -> Option<PermissionMode> {
        self.policy.mode()
    }

    /// Returns the mode that is in force if `mode` is selected. The managed policy can disable
    /// modes.
    #[must_use]
    pub fn effective_mode(&self, mode: PermissionMode) -> PermissionMode {
        self.policy.effective_mode(mode)
    }

    /// Returns whether every allow depends on an audit record.
    #[must_use]
    pub fn requires_audit(&self) -> bool {
        self.policy.requires_audit()
    }

    /// Returns whether any rule applies to repeated calls.
    #[must_use]
    pub fn has_repetition_rules(&self) -> bool {
        self.policy.has_repetition_rules()
    }

    /// Returns whether every file could be read and contains no errors.
    pub(crate) fn is_free_of_errors(&self) -> bool {
        self.broken_files.is_empty()
            && self.policy_error.is_none()
            && self.managed_policy_error.is_none()
    }

    /// Returns whether both policies decide the same and report the same to the user.
    pub(crate) fn is_equivalent(&self, other: &Self) -> bool {
        let grounds = |of: &Self| {
            (of.policy_error.clone(), of.managed_policy_error.clone(), of.notes.clone())
        };
        self.policy == other.policy
            && self.hooks == other.hooks
            && self.roots == other.roots
            && self.sandbox == other.sandbox
            && self.limited_grants.is_some() == other.limited_grants.is_some()
            && self.policy_without_limited_grants() == other.policy_without_limited_grants()
            && grounds(self) == grounds(other)
    }

    /// Returns the policy with the deny rules of an earlier policy.
    pub(crate) fn with_fallback_denies(self, before: Option<PolicyStack>) -> Self {
        let Some(before) = before else { return self };
        let held = |policy: PolicyStack| policy.with_fallback_denies(before.clone());
        let without = self.policy_without_limited_grants().clone();
        let bounded = self
            .limited_grants
            .map(|bounded| LimitedGrants { policy_without: held(without).into(), ..bounded });
        Self { policy: held(self.policy), limited_grants: bounded, ..self }
    }
}
