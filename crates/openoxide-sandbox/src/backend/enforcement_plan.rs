//! The enforcement of a profile by a backend, clause by clause.

use openoxide_protocol::SandboxRestrictions;
use serde::{Deserialize, Serialize};

use crate::backend::{
    backend_kind::Backend,
    bubblewrap,
    clause::{Clause, ClauseEnforcement, Enforcement},
    host_features::HostFeatures,
    landlock, namespaces, seatbelt,
};

/// The enforcement of one profile by a backend on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnforcementPlan {
    /// The backend.
    pub backend: Backend,
    /// Each clause once, in order, with a reason where it is not simply enforced.
    pub clauses: Vec<(Clause, Enforcement, Option<String>)>,
}

impl EnforcementPlan {
    /// Returns what a backend can hold of a profile on this machine.
    #[must_use]
    pub fn for_profile(
        backend: Backend,
        profile: &SandboxRestrictions,
        support: &HostFeatures,
    ) -> Self {
        let clause = |clause| {
            let ClauseEnforcement(held, why) =
                clause_enforcement(backend, clause, profile, support);
            (clause, held, why)
        };
        Self { backend, clauses: Clause::ALL.map(clause).into() }
    }

    /// Returns the first clause that is not held, with the reason.
    #[must_use]
    pub fn first_unenforced(&self) -> Option<(Clause, &str)> {
        let gap = self.clauses.iter().find(|(_, held, _)| *held == Enforcement::Unenforced)?;
        Some((gap.0, gap.2.as_deref().unwrap_or_default()))
    }

    /// Returns whether every clause is enforced.
    #[must_use]
    pub fn is_fully_enforced(&self) -> bool {
        self.clauses.iter().all(|(_, held, _)| *held != Enforcement::Unenforced)
    }
}

/// Returns how a backend enforces a clause of a profile on this machine.
fn clause_enforcement(
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
