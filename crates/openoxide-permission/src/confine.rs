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
//! So `DangerFullAccess` and `Network::On` are never derived from rules: they are settings of their own ([`Ground::host_network`]).

mod files;
mod git;
mod hosts;
mod protected;

use openoxide_protocol::{
    AbsPath, Access, Confined, Decision, Effect, Part, PathAccess, PermissionMode, SandboxProfile,
    Temp, Touch,
};

pub use protected::{GIT_STEERING, IN_ROOTS};

use crate::{
    Context, HomeDirectories, Layer, LayerKind, PolicyStack, decide, directory::refused,
    layer::Ruling, rule::Space,
};

/// What a profile is derived from, beside the decision. All paths are resolved.
#[derive(Clone, Copy, Debug)]
pub struct Ground<'a> {
    /// Everything in force.
    pub policy: &'a PolicyStack,
    /// The layers that it was compiled from, for the hosts that they allow; without them these are asked about.
    pub layers: &'a [Layer],
    /// The facts of the moment.
    pub context: Context<'a>,
    /// The user's home.
    pub home: Option<&'a AbsPath>,
    /// All home directories of the user: secrets in them are hidden, and their start-up files are kept.
    pub user: &'a HomeDirectories,
    /// Where this program keeps its settings and its state: no command changes them, and none reads what no rule lets it read.
    pub own: &'a [AbsPath],
    /// What a look at the disk has turned up that may be held back ([`Ground::rules_out_reading`]). Rules by pattern and secrets by name
    /// are held for these: a profile has no patterns.
    pub seen: &'a [AbsPath],
    /// What that look has turned up that a rule keeps from being changed, and not from being read.
    pub kept: &'a [AbsPath],
    /// The directories that a setting makes writable besides the roots.
    pub writable: &'a [AbsPath],
    /// Whether a setting opens the internet. It does not where a rule about hosts asks or denies: a profile has no "all but".
    pub all_hosts: bool,
    /// Whether a setting opens this machine's own network, under the same condition.
    pub host_network: bool,
}

/// Returns the profile of an operation that may run: each of its accesses was allowed by the policy or by a person.
#[must_use]
pub fn confine(ground: &Ground<'_>, decision: &Decision) -> SandboxProfile {
    if decision.effect == Effect::Deny {
        return SandboxProfile::Confined(Confined::default());
    }
    let writable = files::writable(ground, decision);
    SandboxProfile::Confined(Confined {
        protected: files::protected(ground, decision, &writable),
        unreadable: files::unreadable(ground, decision),
        network: hosts::network(ground, decision),
        temp: Temp::Private,
        writable,
    })
}

impl Ground<'_> {
    /// Says whether a rule that somebody wrote keeps a program from reading a file: who looks through a directory adds what this is said
    /// of to [`Ground::seen`].
    #[must_use]
    pub fn rules_out_reading(&self, path: &AbsPath) -> bool {
        // Under a rule about every path, which is about tools, no program could start.
        self.ruled_out(Access::Read, path).is_some_and(|ruling| !ruling.bare)
    }

    /// Says the same of changing it, or of changing all in it if it is a directory: for [`Ground::kept`].
    #[must_use]
    pub fn rules_out_changing(&self, path: &AbsPath, is_directory: bool) -> bool {
        self.rules_out(Access::Edit, path) || is_directory && self.rules_out_edits(path)
    }

    /// Says whether some rule that somebody wrote holds back by a pattern what is read or changed: a profile cannot say it, so somebody
    /// has to look.
    #[must_use]
    pub fn has_patterns(&self) -> bool {
        let mut policies = std::iter::once(self.policy).chain(self.policy.before());
        policies.any(files::has_patterns)
    }

    /// Says whether opening a directory would open more than anybody means.
    fn refuses(&self, path: &AbsPath) -> bool {
        let homes = self.home.into_iter().chain(&self.user.homes).map(Some);
        homes.chain([None]).any(|home| refused(path, home).is_some())
    }

    /// The directories that are the project's or that a setting makes writable.
    fn open(&self) -> impl Iterator<Item = &AbsPath> {
        self.context.roots.iter().chain(self.writable)
    }

    /// Says whether a rule denies reading something, here or in the last good version: where nothing is held, it could be read.
    #[must_use]
    pub fn denies_reading(&self) -> bool {
        let policies = std::iter::once(self.policy).chain(self.policy.before());
        let spaces = policies.flat_map(|policy| [(policy, Space::Read), (policy, Space::ReadHere)]);
        spaces.into_iter().any(|(policy, space)| {
            let rules = policy.index().holding_back(space);
            (0..rules.count).any(|number| rules.get(number).1 == Effect::Deny)
        })
    }

    /// Says whether nobody need be asked when a program touches a file.
    fn lets(&self, access: fn(PathAccess) -> Access, path: &AbsPath) -> bool {
        let access = access(PathAccess { touch: Touch::Program, ..PathAccess::new(path.clone()) });
        decide(self.policy, &self.context, &access).effect == Effect::Allow
    }

    /// Says whether a rule speaks against changing a file of a directory that no rule names.
    fn rules_out_edits(&self, directory: &AbsPath) -> bool {
        self.rules_out(Access::Edit, &directory.join("nobody-named-this"))
    }

    fn rules_out(&self, access: fn(PathAccess) -> Access, path: &AbsPath) -> bool {
        self.ruled_out(access, path).is_some()
    }

    /// Returns what a rule says that is not built in, if it asks or denies when a program touches a file.
    fn ruled_out(&self, access: fn(PathAccess) -> Access, path: &AbsPath) -> Option<Ruling> {
        let access = access(PathAccess { touch: Touch::Program, ..PathAccess::new(path.clone()) });
        let outcome = decide(self.policy, &self.context, &access);
        let holds =
            |ruling: &Ruling| ruling.effect != Effect::Allow && ruling.layer != LayerKind::Default;
        outcome.ruling.filter(holds).filter(|_| outcome.effect != Effect::Allow)
    }

    fn changes_nothing(&self) -> bool {
        self.context.mode == PermissionMode::Plan
    }
}

/// The accesses that may happen now.
fn granted(decision: &Decision) -> impl Iterator<Item = &Access> {
    let granted = |part: &&Part| part.decision != Effect::Deny;
    decision.parts.iter().filter(granted).map(|part| &part.access)
}

#[cfg(test)]
mod tests;
