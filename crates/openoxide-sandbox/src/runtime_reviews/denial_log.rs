//! The log of denials, for the report.

use std::sync::{Mutex, PoisonError};

use crate::interface::SandboxDenial;

/// The maximum number of different denials that are reported.
const MAX_DENIALS: usize = 256;

/// The denials so far, in order and without duplicates.
#[derive(Debug, Default)]
pub(crate) struct DenialLog(Mutex<Vec<SandboxDenial>>);

impl DenialLog {
    pub(crate) fn record(&self, denial: SandboxDenial) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MAX_DENIALS && !all.contains(&denial) {
            all.push(denial);
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<SandboxDenial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
