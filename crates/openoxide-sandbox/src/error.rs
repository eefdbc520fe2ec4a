//! Why nothing was run.

use std::io;

use crate::NoBackendError;

/// Why a program was not run confined. It was not run at all then.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The sandbox could not be set up.
    #[error("{step}: {error}")]
    Setup {
        /// What was tried, for a person.
        step: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// This machine cannot hold the profile with any backend.
    #[error("{refusal}{}", describe_first_error(first.as_deref()))]
    Unavailable {
        /// What was tried first and failed, if anything was.
        first: Option<Box<Self>>,
        /// What each backend could have held.
        refusal: NoBackendError,
    },
}

fn describe_first_error(first: Option<&SandboxError>) -> String {
    first.map_or_else(String::new, |first| format!("\n  tried: {first}"))
}

/// Says what was tried when something failed.
pub(crate) trait SetupContext<T> {
    /// Says what was tried.
    fn with_step(self, what: impl FnOnce() -> String) -> Result<T, SandboxError>;
}

impl<T, E: Into<io::Error>> SetupContext<T> for Result<T, E> {
    fn with_step(self, what: impl FnOnce() -> String) -> Result<T, SandboxError> {
        self.map_err(|error| SandboxError::Setup { step: what(), error: error.into() })
    }
}
