//! From a decision to a profile: what the operating system is to hold of what was decided.
//!
//! The kernel permits what the policy and the decision allow, and nothing more (seed 001, "never weaker"); where a rule says
//! more than a profile can, the profile is narrower and the rest is asked about when it happens. [`confine`] derives;
//! what a person or a setting says besides is intersected with it ([`SandboxProfile::intersect`]).
//!
//! | mode | files | like Codex's (seed 002) |
//! | --- | --- | --- |
//! | `plan` | none is changed | `ReadOnly` |
//! | `default`, `accept_edits`, `dont_ask` | the roots, but for what steers tools, and what was granted by name | `WorkspaceWrite` |
//! | `bypass_permissions` | the same | `WorkspaceWrite` |
//!
//! `bypass_permissions` takes questions away, and not the last line of defence: denies and circuit breakers hold in it
//! (DECISIONS 6), commands are confined by default (DECISIONS 13), and Codex, too, lets go of both only by a switch that names both.
//! So `DangerFullAccess` and `Network::On` are never derived from rules: they are settings of their own ([`ConfineInput::host_network`]).

mod git_repositories;
mod network_access;
mod path_restrictions;
mod protected_names;

use openoxide_protocol::{
    AbsPath, Access, AccessDecision, AccessRoute, Decision, Effect, PathAccess, PermissionMode,
    SandboxProfile, SandboxRestrictions, TempDirectories,
};

pub use protected_names::{GIT_STEERING_NAMES, PROTECTED_ROOT_NAMES};

use crate::{
    EvaluationContext, HomeDirectories, Layer, LayerKind, PolicyStack,
    additional_directory::forbidden_root_reason, decide_access, layer::RuleMatch,
    rule::SubjectKind,
};

/// What a profile is derived from, beside the decision. All paths are resolved.
#[derive(Clone, Copy, Debug)]
pub struct ConfineInput<'a> {
    /// Everything in force.
    pub policy: &'a PolicyStack,
    /// The layers that it was compiled from, for the hosts that they allow; without them these are asked about.
    pub layers: &'a [Layer],
    /// The facts of the moment.
    pub context: EvaluationContext<'a>,
    /// The user's home.
    pub home: Option<&'a AbsPath>,
    /// All home directories of the user: secrets in them are hidden, and their start-up files are kept.
    pub home_directories: &'a HomeDirectories,
    /// Where this program keeps its settings and its state: no command changes them, and none reads what no rule lets it read.
    pub openoxide_paths: &'a [AbsPath],
    /// What a look at the disk has turned up that may be held back ([`ConfineInput::restricts_read`]). Rules by pattern and secrets by name
    /// are held for these: a profile has no patterns.
    pub restricted_paths: &'a [AbsPath],
    /// What that look has turned up that a rule keeps from being changed, and not from being read.
    pub write_restricted_paths: &'a [AbsPath],
    /// The directories that a setting makes writable besides the roots.
    pub writable: &'a [AbsPath],
    /// Whether a setting opens the internet. It does not where a rule about hosts asks or denies: a profile has no "all but".
    pub all_hosts: bool,
    /// Whether a setting opens this machine's own network, under the same condition.
    pub host_network: bool,
}

/// Returns the profile of an operation that may run: each of its accesses was allowed by the policy or by a person.
#[must_use]
pub fn derive_profile(ground: &ConfineInput<'_>, decision: &Decision) -> SandboxProfile {
    if decision.effect == Effect::Deny {
        return SandboxProfile::Confined(SandboxRestrictions::default());
    }
    let writable = path_restrictions::writable_paths(ground, decision);
    SandboxProfile::Confined(SandboxRestrictions {
        protected: path_restrictions::protected_paths(ground, decision, &writable),
        unreadable: path_restrictions::unreadable_paths(ground, decision),
        network: network_access::derive_network(ground, decision),
        temp: TempDirectories::Private,
        writable,
    })
}

impl ConfineInput<'_> {
    /// Says whether a rule that somebody wrote keeps a program from reading a file: who looks through a directory adds what this is said
    /// of to [`ConfineInput::restricted_paths`].
    #[must_use]
    pub fn restricts_read(&self, path: &AbsPath) -> bool {
        // Under a rule about every path, which is about tools, no program could start.
        self.find_restricting_match(Access::Read, path)
            .is_some_and(|ruling| !ruling.matches_everything)
    }

    /// Says the same of changing it, or of changing all in it if it is a directory: for [`ConfineInput::write_restricted_paths`].
    #[must_use]
    pub fn restricts_write(&self, path: &AbsPath, is_directory: bool) -> bool {
        self.is_restricted(Access::Edit, path) || is_directory && self.restricts_all_edits(path)
    }

    /// Says whether some rule that somebody wrote holds back by a pattern what is read or changed: a profile cannot say it, so somebody
    /// has to look.
    #[must_use]
    pub fn has_pattern_rules(&self) -> bool {
        let mut policies = std::iter::once(self.policy).chain(self.policy.last_good());
        policies.any(path_restrictions::has_pattern_rules)
    }

    /// Says whether opening a directory would open more than anybody means.
    fn is_forbidden_root(&self, path: &AbsPath) -> bool {
        let homes = self.home.into_iter().chain(&self.home_directories.homes).map(Some);
        homes.chain([None]).any(|home| forbidden_root_reason(path, home).is_some())
    }

    /// The directories that are the project's or that a setting makes writable.
    fn writable_roots(&self) -> impl Iterator<Item = &AbsPath> {
        self.context.roots.iter().chain(self.writable)
    }

    /// Says whether a rule denies reading something, here or in the last good version: where nothing is held, it could be read.
    #[must_use]
    pub fn has_read_deny(&self) -> bool {
        let policies = std::iter::once(self.policy).chain(self.policy.last_good());
        let spaces = policies
            .flat_map(|policy| [(policy, SubjectKind::Read), (policy, SubjectKind::ReadFromCwd)]);
        spaces.into_iter().any(|(policy, space)| {
            let rules = policy.index().restrictive_rules(space);
            (0..rules.count).any(|number| rules.get(number).1 == Effect::Deny)
        })
    }

    /// Says whether nobody need be asked when a program touches a file.
    fn is_allowed(&self, access: fn(PathAccess) -> Access, path: &AbsPath) -> bool {
        let access =
            access(PathAccess { route: AccessRoute::Program, ..PathAccess::new(path.clone()) });
        decide_access(self.policy, &self.context, &access).effect == Effect::Allow
    }

    /// Says whether a rule speaks against changing a file of a directory that no rule names.
    fn restricts_all_edits(&self, directory: &AbsPath) -> bool {
        self.is_restricted(Access::Edit, &directory.join("nobody-named-this"))
    }

    fn is_restricted(&self, access: fn(PathAccess) -> Access, path: &AbsPath) -> bool {
        self.find_restricting_match(access, path).is_some()
    }

    /// Returns what a rule says that is not built in, if it asks or denies when a program touches a file.
    fn find_restricting_match(
        &self,
        access: fn(PathAccess) -> Access,
        path: &AbsPath,
    ) -> Option<RuleMatch> {
        let access =
            access(PathAccess { route: AccessRoute::Program, ..PathAccess::new(path.clone()) });
        let outcome = decide_access(self.policy, &self.context, &access);
        let holds = |ruling: &RuleMatch| {
            ruling.effect != Effect::Allow && ruling.layer != LayerKind::Default
        };
        outcome.rule_match.filter(holds).filter(|_| outcome.effect != Effect::Allow)
    }

    fn is_read_only(&self) -> bool {
        self.context.mode == PermissionMode::Plan
    }
}

/// The accesses that may happen now.
fn granted_accesses(decision: &Decision) -> impl Iterator<Item = &Access> {
    let granted = |part: &&AccessDecision| part.decision != Effect::Deny;
    decision.parts.iter().filter(granted).map(|part| &part.access)
}

#[cfg(test)]
mod tests;
