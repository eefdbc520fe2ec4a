//! The services that the engine needs from this program: warnings, and the end of a wait.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use openoxide_engine::{CheckHost, EngineWarning, InterruptWatch};

/// The host of one call. Warnings are collected, and a cancelled call counts as interrupted.
#[derive(Default)]
pub(crate) struct CallHost {
    warnings: Mutex<Vec<String>>,
    is_cancelled: AtomicBool,
}

impl CallHost {
    /// Cancels the call.
    pub(crate) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Release);
    }

    /// Returns whether the call was cancelled.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Acquire)
    }

    /// Returns the warnings, and forgets them.
    pub(crate) fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CheckHost for CallHost {
    fn warn(&self, warning: EngineWarning) {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning.to_string());
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(CancelWatch(self))
    }
}

struct CancelWatch<'a>(&'a CallHost);

impl InterruptWatch for CancelWatch<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.is_cancelled()
    }

    fn stop(&self) -> bool {
        self.0.is_cancelled()
    }
}
