//! The choice of a backend: the first that holds the whole profile, or none.

use std::fmt;

use openoxide_protocol::Confined;

use crate::{Backend, Plan, Support};

/// Why nothing on this machine holds a profile: what each backend could have held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// A plan for each backend of this system, none of which holds.
    pub plans: Vec<Plan>,
}

/// Returns the first backend that holds every clause of a profile, with what it holds. There is no other way: a profile is
/// never held in part.
///
/// # Errors
/// None does; then nothing may be run.
pub fn choose(profile: &Confined, support: &Support) -> Result<Plan, Refusal> {
    let mut plans = Vec::new();
    for backend in Backend::HERE {
        let plan = Plan::of(*backend, profile, support);
        if plan.holds() {
            return Ok(plan);
        }
        plans.push(plan);
    }
    Err(Refusal { plans })
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("nothing on this machine holds this profile")?;
        for plan in &self.plans {
            let Some((clause, why)) = plan.gap() else { continue };
            write!(out, "\n  {}: {}: {why}", plan.backend.as_str(), clause.as_str())?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests;
