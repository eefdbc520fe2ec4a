//! The input of a profile, and the restrictions of the rules in it.

use std::{
    hash::{Hash as _, Hasher},
    iter,
};

use openoxide_protocol::{AbsPath, Access, AccessRoute, Effect, PathAccess, PermissionMode};

use super::path_patterns;
use crate::{
    EvaluationContext, HomeDirectories, Layer, LayerKind, PolicyStack,
    additional_directory::forbidden_root_reason, decide_access, layer::RuleMatch,
    rule::SubjectKind,
};

/// The input of a profile, in addition to the decision. All paths are resolved.
#[derive(Clone, Copy, Debug)]
pub struct ProfileInput<'a> {
    /// The policy in force.
    pub policy: &'a PolicyStack,
    /// The layers that the policy was compiled from, for the hosts that they allow. Without them,
    /// the hosts are asked about.
    pub layers: &'a [Layer],
    /// The state in which the operation is evaluated.
    pub context: EvaluationContext<'a>,
    /// The home directory that `~` refers to.
    pub home: Option<&'a AbsPath>,
    /// All home directories of the user. Secrets in them are hidden, and start-up files are
    /// protected.
    pub home_directories: &'a HomeDirectories,
    /// The directories of OpenOxide's settings and state. No command can change them, and no
    /// command can read them without a rule that allows it.
    pub openoxide_paths: &'a [AbsPath],
    /// The paths found by a scan of the file system that may be restricted
    /// ([`ProfileInput::restricts_read`]). Pattern rules and secrets by name are enforced for these
    /// paths, because a profile has no patterns.
    pub restricted_paths: &'a [AbsPath],
    /// The paths found by the same scan that a rule restricts from being changed, but not from
    /// being read.
    pub write_restricted_paths: &'a [AbsPath],
    /// The directories that a setting makes writable besides the roots.
    pub writable: &'a [AbsPath],
    /// The git directories outside of the roots in which `git` keeps the data of a root: those of
    /// linked worktrees. The caller has checked that they belong together.
    pub git_directories: &'a [AbsPath],
    /// True if a setting allows all internet hosts. It has no effect if a rule about hosts asks or
    /// denies, because a profile cannot express exceptions.
    pub all_hosts: bool,
    /// True if a setting allows the network of the host machine. It has no effect under the same
    /// condition as `all_hosts`.
    pub host_network: bool,
}

impl ProfileInput<'_> {
    /// Returns whether a rule that is not built in restricts a program from reading a file. A
    /// caller that scans a directory adds these files to [`ProfileInput::restricted_paths`].
    #[must_use]
    pub fn restricts_read(&self, path: &AbsPath) -> bool {
        // A rule that matches every path is about tools. If it applied here, no program could
        // start.
        self.find_restricting_match(Access::Read, path)
            .is_some_and(|ruling| !ruling.matches_everything)
    }

    /// Returns whether a rule that is not built in restricts changing a file, or changing
    /// everything in a directory. The result is for [`ProfileInput::write_restricted_paths`].
    #[must_use]
    pub fn restricts_write(&self, path: &AbsPath, is_directory: bool) -> bool {
        self.is_restricted(Access::Edit, path) || is_directory && self.restricts_all_edits(path)
    }

    /// Returns whether a rule that is not built in restricts reads or changes by a pattern. A
    /// profile cannot express patterns, so the caller has to scan the file system.
    #[must_use]
    pub fn has_pattern_rules(&self) -> bool {
        let mut policies = std::iter::once(self.policy).chain(self.policy.last_good());
        policies.any(path_patterns::has_pattern_rules)
    }

    /// Adds everything that the restrictions of the rules depend on to a hash.
    pub fn hash_restrictions(&self, hasher: &mut impl Hasher) {
        for policy in iter::once(self.policy).chain(self.policy.last_good()) {
            policy.as_bytes().hash(hasher);
        }
        let EvaluationContext { mode, cwd, roots, policy_error, auto_allow } = self.context;
        (mode, cwd, roots, policy_error, auto_allow).hash(hasher);
    }

    /// Returns whether a directory is forbidden as a root, because it would make more files
    /// accessible than intended.
    pub(super) fn is_forbidden_root(&self, path: &AbsPath) -> bool {
        let homes = self.home.into_iter().chain(&self.home_directories.homes).map(Some);
        homes.chain([None]).any(|home| forbidden_root_reason(path, home).is_some())
    }

    /// Returns the directories of the project and those that a setting makes writable.
    pub(super) fn writable_roots(&self) -> impl Iterator<Item = &AbsPath> {
        self.context.roots.iter().chain(self.writable)
    }

    /// Returns whether a rule denies reads, in this policy or in the last good version. Without
    /// confinement such files could be read.
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

    /// Returns whether a program may access a file without a question.
    pub(super) fn is_allowed(&self, access: fn(PathAccess) -> Access, path: &AbsPath) -> bool {
        let access =
            access(PathAccess { route: AccessRoute::Program, ..PathAccess::new(path.clone()) });
        decide_access(self.policy, &self.context, &access).effect == Effect::Allow
    }

    /// Returns whether a rule asks about or denies changes of files in a directory, including files
    /// that no rule names.
    pub(super) fn restricts_all_edits(&self, directory: &AbsPath) -> bool {
        self.is_restricted(Access::Edit, &directory.join("nobody-named-this"))
    }

    pub(super) fn is_restricted(&self, access: fn(PathAccess) -> Access, path: &AbsPath) -> bool {
        self.find_restricting_match(access, path).is_some()
    }

    /// Returns the match of a rule that is not built in, if it asks or denies when a program
    /// accesses a file.
    pub(super) fn find_restricting_match(
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

    pub(super) fn is_read_only(&self) -> bool {
        self.context.mode == PermissionMode::Plan
    }
}
