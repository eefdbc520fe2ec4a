//! The log of denials, for the report.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use crate::{
    interface::{PostRunFinding, SandboxDenial},
    runtime_reviews::coordinator::{MAX_REVIEWS_PER_MINUTE, ReviewOutcome},
};

/// The maximum number of different denials that are reported.
const MAX_DENIALS: usize = 256;

/// The denials so far, in order and without duplicates.
#[derive(Debug, Default)]
pub(crate) struct DenialLog {
    denials: Mutex<Vec<SandboxDenial>>,
    unasked_count: AtomicUsize,
}

impl DenialLog {
    pub(crate) fn record(&self, denial: SandboxDenial) {
        let mut all = self.denials.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_DENIALS && !all.contains(&denial) {
            all.push(denial);
        }
    }

    /// Counts a request about which there was no question because there were too many.
    pub(crate) fn record_outcome(&self, outcome: ReviewOutcome) {
        if outcome == ReviewOutcome::NotAsked {
            self.unasked_count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns a finding if there were more questions than a person is asked.
    pub(crate) fn unasked_finding(&self) -> Option<PostRunFinding> {
        let count = self.unasked_count.load(Ordering::Relaxed);
        (count > 0).then_some(PostRunFinding::TooManyQuestions {
            count,
            per_minute: MAX_REVIEWS_PER_MINUTE,
        })
    }

    pub(crate) fn to_vec(&self) -> Vec<SandboxDenial> {
        self.denials.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
