//! Detection of a fork. Locks and threads of the parent do not work in the child.

use std::sync::atomic::{AtomicU64, Ordering};

use pyo3::prelude::*;

use crate::error::ErrorClass;

/// The number of forks between the first process and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Tells the module that this process is the child of a fork. The package registers it with
/// `os.register_at_fork`, which costs nothing when an object is used. A system call to compare
/// process ids would take longer than the lookup of a session approval.
#[pyfunction]
pub(crate) fn note_fork() {
    GENERATION.fetch_add(1, Ordering::AcqRel);
}

/// The process that created an object.
#[derive(Clone, Copy)]
pub(crate) struct ForkGuard {
    generation: u64,
}

impl ForkGuard {
    /// Returns the guard of an object that this process creates.
    pub(crate) fn new() -> Self {
        Self { generation: GENERATION.load(Ordering::Acquire) }
    }

    /// Returns whether this process created the object.
    pub(crate) fn is_own_process(self) -> bool {
        self.generation == GENERATION.load(Ordering::Acquire)
    }

    /// Checks that this process created the object.
    ///
    /// # Errors
    /// Returns a `ForkedProcessError` in a child process of the creator.
    pub(crate) fn check(self, py: Python<'_>) -> PyResult<()> {
        if self.is_own_process() {
            return Ok(());
        }
        let message = "this object was created before a fork; create another one in the child \
                       process";
        Err(ErrorClass::ForkedProcess.with_message(py, message))
    }
}
