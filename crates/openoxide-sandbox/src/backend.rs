//! The ways to confine, and what each can hold.

pub(crate) mod bubblewrap;
mod landlock;
mod namespaces;
pub mod seatbelt;

use openoxide_protocol::SandboxRestrictions;

use crate::{Backend, Clause, Enforcement, HostFeatures, MissingFeature};

/// The enforcement of one clause, with a reason if it needs an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClauseEnforcement(pub(crate) Enforcement, pub(crate) Option<String>);

impl ClauseEnforcement {
    const ENFORCED: Self = Self(Enforcement::Enforced, None);

    fn new_stricter(why: &str) -> Self {
        Self(Enforcement::Stricter, Some(why.to_owned()))
    }

    fn new_unenforced(why: impl Into<String>) -> Self {
        Self(Enforcement::Unenforced, Some(why.into()))
    }
}

impl From<&MissingFeature> for ClauseEnforcement {
    /// Returns the clause as unenforced, with the reason why the feature is missing.
    fn from(lack: &MissingFeature) -> Self {
        Self::new_unenforced(lack.reason.as_str())
    }
}

/// Returns how a backend enforces a clause of a profile on this machine.
pub(crate) fn clause_enforcement(
    backend: Backend,
    clause: Clause,
    profile: &SandboxRestrictions,
    support: &HostFeatures,
) -> ClauseEnforcement {
    let by = match backend {
        Backend::Namespaces => namespaces::clause_enforcement,
        Backend::Bubblewrap => bubblewrap::clause_enforcement,
        Backend::Landlock => landlock::clause_enforcement,
        Backend::Seatbelt => seatbelt::clause_enforcement,
    };
    by(clause, profile, support)
}
