//! The choice of a backend: the first that enforces the whole profile, or none.

use std::fmt;

use openoxide_protocol::SandboxRestrictions;
use serde::{Deserialize, Serialize};

use crate::backend::{
    backend_kind::SandboxBackend, enforcement_plan::EnforcementPlan, host_features::HostFeatures,
};

/// An error: no backend on this machine enforces the profile. It contains the plan of each backend.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoBackendError {
    /// The plans of all backends of this system. None of them enforces every clause.
    pub plans: Vec<EnforcementPlan>,
    /// Suggested fixes, without duplicates.
    pub help: Vec<String>,
}

impl NoBackendError {
    pub(crate) fn from_plans(plans: Vec<EnforcementPlan>, support: &HostFeatures) -> Self {
        let lacks = support.features().filter_map(|(_, able)| able.err()?.help.clone());
        let mut help: Vec<String> = Vec::new();
        for one in lacks {
            if !help.contains(&one) {
                help.push(one);
            }
        }
        Self { plans, help }
    }
}

/// Returns the plan of the first backend that enforces every clause of a profile. A profile is
/// never enforced in part.
///
/// # Errors
/// Returns an error if no backend enforces all clauses. No program may be run then.
pub fn choose_backend(
    profile: &SandboxRestrictions,
    support: &HostFeatures,
) -> Result<EnforcementPlan, NoBackendError> {
    let mut plans = Vec::new();
    for backend in SandboxBackend::HERE {
        let plan = EnforcementPlan::for_profile(*backend, profile, support);
        if plan.is_fully_enforced() {
            return Ok(plan);
        }
        plans.push(plan);
    }
    Err(NoBackendError::from_plans(plans, support))
}

impl fmt::Display for NoBackendError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("no backend on this machine can fully enforce this profile")?;
        for plan in &self.plans {
            let Some((clause, why)) = plan.first_unenforced() else { continue };
            write!(out, "\n  {}: {}: {why}", plan.backend.as_str(), clause.as_str())?;
        }
        self.help.iter().try_for_each(|help| write!(out, "\n  to do: {help}"))
    }
}

impl std::error::Error for NoBackendError {}

#[cfg(test)]
mod tests;
