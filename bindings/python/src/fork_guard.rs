//! Detection of a fork. Locks and threads of the parent do not work in the child.

use pyo3::prelude::*;

use crate::error::ErrorClass;

/// The process that created an object.
#[derive(Clone, Copy)]
pub(crate) struct ForkGuard {
    process: u32,
}

impl ForkGuard {
    /// Returns the guard of an object that this process creates.
    pub(crate) fn new() -> Self {
        Self { process: std::process::id() }
    }

    /// Checks that this process created the object.
    ///
    /// # Errors
    /// Returns a `ForkedProcessError` in a child process of the creator.
    pub(crate) fn check(self, py: Python<'_>) -> PyResult<()> {
        if self.process == std::process::id() {
            return Ok(());
        }
        let message = "this object was created before a fork; create another one in the child \
                       process";
        Err(ErrorClass::ForkedProcess.with_message(py, message))
    }
}
