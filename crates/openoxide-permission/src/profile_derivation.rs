//! Derivation of a sandbox profile from a decision.
//!
//! The kernel permits no more than the policy and the decision allow. If a rule is more specific
//! than a profile can express, the profile is narrower, and the remaining accesses are asked about
//! when they occur. [`derive_profile`] derives the profile. Restrictions by a person or a setting
//! are intersected with it ([`SandboxProfile::intersect`]).
//!
//! | mode | writable files | equivalent in Codex |
//! | --- | --- | --- |
//! | `plan` | none | `ReadOnly` |
//! | `default`, `accept_edits`, `dont_ask` | the roots without steering files, and paths granted by name | `WorkspaceWrite` |
//! | `bypass_permissions` | the same | `WorkspaceWrite` |
//!
//! `bypass_permissions` removes questions, but not the last line of defence: denies and circuit
//! breakers still apply, and commands are confined by default. Codex also drops both only with a
//! switch that names both. `DangerFullAccess` and `NetworkAccess::On` are therefore never derived
//! from rules: they are separate settings ([`ProfileInput::host_network`]).

mod confine_input;
mod granted_accesses;
mod network_access;
mod path_patterns;
mod path_restrictions;
mod protected_names;

use openoxide_protocol::{Decision, Effect, SandboxProfile, SandboxRestrictions, TempDirectories};

pub use self::{
    confine_input::ProfileInput, network_access::exactly_allowed_hosts,
    protected_names::PROTECTED_ROOT_NAMES,
};

/// Returns the profile of an operation that may run: the policy or a person allowed each of its
/// accesses.
#[must_use]
pub fn derive_profile(ground: &ProfileInput<'_>, decision: &Decision) -> SandboxProfile {
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

#[cfg(test)]
mod tests;
