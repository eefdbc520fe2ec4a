//! A limit on the number of concurrent tasks.

use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// A number of slots. If none is free, a caller waits.
#[derive(Clone)]
pub(crate) struct ConcurrencyLimit(Arc<(Mutex<usize>, Condvar)>);

/// An acquired slot, which is released when it is dropped.
pub(crate) struct ConcurrencySlot(ConcurrencyLimit);

impl ConcurrencyLimit {
    pub(crate) fn new(free: usize) -> Self {
        Self(Arc::new((Mutex::new(free), Condvar::new())))
    }

    /// Waits for a free slot and acquires it.
    pub(crate) fn acquire(&self) -> ConcurrencySlot {
        let (free, changed) = &*self.0;
        let free = free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free =
            changed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        ConcurrencySlot(self.clone())
    }
}

impl Drop for ConcurrencySlot {
    fn drop(&mut self) {
        let (free, changed) = &*self.0.0;
        *free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        changed.notify_one();
    }
}
