//! What was refused, for the report.

use std::sync::{Mutex, PoisonError};

use crate::Denial;

/// How many different ones are told.
const MOST: usize = 256;

/// What was refused so far, in order, each once.
#[derive(Debug, Default)]
pub(crate) struct Refused(Mutex<Vec<Denial>>);

impl Refused {
    pub(crate) fn add(&self, denial: Denial) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < MOST && !all.contains(&denial) {
            all.push(denial);
        }
    }

    pub(crate) fn all(&self) -> Vec<Denial> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
