//! A host for programs that need nothing of their own from a check.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use openoxide_sandbox::RunCanceller;

use crate::{
    check_host::{CheckHost, InterruptWatch},
    engine_warning::EngineWarning,
};

/// A host that collects warnings, and that a program can interrupt. Clones refer to the same host.
///
/// After [`Self::interrupt`], every check and every wait for an answer ends without permission, and
/// a command in the sandbox is killed. This includes later ones, until [`Self::resume`].
///
/// ```
/// use openoxide_engine::{BasicHost, CheckHost};
///
/// let host = BasicHost::default();
/// let on_signal = host.clone(); // For the handler of Ctrl-C, in another thread.
/// on_signal.interrupt();
/// assert!(host.watch_interrupts().is_interrupted());
/// host.resume();
/// assert!(!host.watch_interrupts().is_interrupted());
/// ```
#[derive(Clone, Debug, Default)]
pub struct BasicHost(Arc<HostState>);

#[derive(Debug, Default)]
struct HostState {
    warnings: Mutex<Vec<EngineWarning>>,
    is_interrupted: AtomicBool,
    /// Ends the command that runs.
    canceller: Mutex<Option<RunCanceller>>,
}

impl BasicHost {
    /// Interrupts the current check or command, and later ones.
    pub fn interrupt(&self) {
        self.0.is_interrupted.store(true, Ordering::Release);
        self.cancel_if_interrupted(self.lock_canceller().as_ref());
    }

    /// Returns whether the host is interrupted.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.0.is_interrupted.load(Ordering::Acquire)
    }

    /// Sets the handle that ends the current command, and uses it if the host is interrupted.
    pub(crate) fn set_canceller(&self, canceller: Option<RunCanceller>) {
        let mut current = self.lock_canceller();
        *current = canceller;
        self.cancel_if_interrupted(current.as_ref());
    }

    fn lock_canceller(&self) -> MutexGuard<'_, Option<RunCanceller>> {
        self.0.canceller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel_if_interrupted(&self, canceller: Option<&RunCanceller>) {
        if let (Some(canceller), true) = (canceller, self.is_interrupted()) {
            canceller.cancel();
        }
    }

    /// Lets later checks proceed again.
    pub fn resume(&self) {
        self.0.is_interrupted.store(false, Ordering::Release);
    }

    /// Returns the warnings since the last call. A program should show them to its user.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<EngineWarning> {
        std::mem::take(&mut *self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl CheckHost for BasicHost {
    fn warn(&self, warning: EngineWarning) {
        self.0.warnings.lock().unwrap_or_else(PoisonError::into_inner).push(warning);
    }

    fn watch_interrupts(&self) -> Box<dyn InterruptWatch + '_> {
        Box::new(HostWatch(&self.0.is_interrupted))
    }
}

struct HostWatch<'a>(&'a AtomicBool);

impl InterruptWatch for HostWatch<'_> {
    fn is_interrupted(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn stop(&self) -> bool {
        self.is_interrupted()
    }
}
