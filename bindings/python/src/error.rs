//! The exceptions of the package, which Python defines.

use pyo3::{prelude::*, sync::PyOnceLock, types::PyType};

/// An exception class of `tool_approval.errors`.
#[derive(Clone, Copy)]
pub(crate) enum ErrorClass {
    ApprovalUnavailable,
    ForkedProcess,
    OperationBlocked,
    Policy,
    Sandbox,
    UncomparablePayload,
}

impl ErrorClass {
    const fn name(self) -> &'static str {
        match self {
            Self::ApprovalUnavailable => "ApprovalUnavailableError",
            Self::ForkedProcess => "ForkedProcessError",
            Self::OperationBlocked => "OperationBlockedError",
            Self::Policy => "PolicyError",
            Self::Sandbox => "SandboxError",
            Self::UncomparablePayload => "UncomparablePayloadError",
        }
    }

    /// Returns an exception of this class.
    pub(crate) fn with_message(self, py: Python<'_>, message: impl Into<String>) -> PyErr {
        static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
        let class = MODULE
            .get_or_try_init(py, || py.import("tool_approval.errors").map(Bound::unbind))
            .and_then(|module| module.bind(py).getattr(self.name()))
            .and_then(|class| Ok(class.cast_into::<PyType>()?));
        match class {
            Ok(class) => PyErr::from_type(class, message.into()),
            Err(error) => error,
        }
    }
}
