//! The enforcement of a profile by a backend, clause by clause.

use openoxide_protocol::SandboxRestrictions;
use serde::{Deserialize, Serialize};

use crate::backend::{
    backend_kind::SandboxBackend,
    bubblewrap,
    clause::{ClauseEnforcement, Enforcement, ProfileClause},
    host_features::HostFeatures,
    landlock, namespaces, seatbelt,
};

/// The enforcement of one profile by a backend on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnforcementPlan {
    /// The backend.
    pub backend: SandboxBackend,
    /// Each clause once, in order, with a reason if it is not enforced exactly.
    pub clauses: Vec<(ProfileClause, Enforcement, Option<String>)>,
}

impl EnforcementPlan {
    /// Returns the plan of a backend for a profile on this machine.
    #[must_use]
    pub fn for_profile(
        backend: SandboxBackend,
        profile: &SandboxRestrictions,
        support: &HostFeatures,
    ) -> Self {
        let clause = |clause| {
            let ClauseEnforcement(held, why) =
                clause_enforcement(backend, clause, profile, support);
            (clause, held, why)
        };
        Self { backend, clauses: ProfileClause::ALL.map(clause).into() }
    }

    /// Returns the first clause that is not enforced, with the reason.
    #[must_use]
    pub fn first_unenforced(&self) -> Option<(ProfileClause, &str)> {
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
    backend: SandboxBackend,
    clause: ProfileClause,
    profile: &SandboxRestrictions,
    support: &HostFeatures,
) -> ClauseEnforcement {
    let by = match backend {
        SandboxBackend::Namespaces => namespaces::clause_enforcement,
        SandboxBackend::Bubblewrap => bubblewrap::clause_enforcement,
        SandboxBackend::Landlock => landlock::clause_enforcement,
        SandboxBackend::Seatbelt => seatbelt::clause_enforcement,
    };
    by(clause, profile, support)
}
