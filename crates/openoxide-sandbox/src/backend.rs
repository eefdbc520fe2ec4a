//! The ways to confine, and what each can hold.

pub(crate) mod bubblewrap;
mod landlock;
mod namespaces;
pub mod seatbelt;

use openoxide_protocol::SandboxRestrictions;

use crate::{Backend, Clause, Enforcement, HostFeatures, MissingFeature};

/// How one clause is held, with a reason where there is something to say.
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
    /// What is lacking is not held.
    fn from(lack: &MissingFeature) -> Self {
        Self::new_unenforced(lack.reason.as_str())
    }
}

/// Says how a backend holds a clause of a profile on this machine.
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
