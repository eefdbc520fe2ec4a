//! The budget for the work that one call may cause.
//!
//! Scripts and file names are written by an adversary. A hook that answers too late has no effect,
//! because its client continues without it. Every disk access and every comparison of names
//! therefore takes steps from one budget for the whole call.

use std::cell::Cell;

/// The number of steps for one call. A step takes about a microsecond: one entry of a directory,
/// one component of a path, or a short comparison.
const MAX_STEPS: usize = 120_000;

/// The cost of opening, reading and closing a directory, without its entries.
const DIRECTORY_STEPS: usize = 10;

/// The remaining steps for one call. An examination that would need more steps is omitted, and its
/// subject is opaque.
#[derive(Debug)]
pub(crate) struct StepBudget(Cell<usize>);

impl StepBudget {
    /// Returns the budget of one call.
    pub(crate) const fn new() -> Self {
        Self(Cell::new(MAX_STEPS))
    }

    /// Uses steps. Returns whether enough were left. If not, no steps are left for later calls
    /// either.
    #[must_use]
    pub(crate) fn take_steps(&self, steps: usize) -> bool {
        let left = self.0.get().checked_sub(steps);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Uses the steps for opening a directory, without its entries. Returns whether enough were
    /// left.
    #[must_use]
    pub(crate) fn take_directory(&self) -> bool {
        self.take_steps(DIRECTORY_STEPS)
    }

    /// Returns the number of used steps.
    #[cfg(test)]
    pub(crate) fn used_steps(&self) -> usize {
        MAX_STEPS - self.0.get()
    }
}

#[cfg(test)]
mod tests;
