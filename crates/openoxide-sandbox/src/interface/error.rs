//! Errors of running a program in the sandbox.

use std::io;

use openoxide_protocol::PublishedPort;

use crate::backend::NoBackendError;

/// An error that prevented a program from running in the sandbox. The program was not run.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The sandbox could not be set up.
    #[error("{step}: {error}")]
    Setup {
        /// The step that failed, as text for a person.
        step: String,
        /// The error from the kernel.
        error: io::Error,
    },
    /// This process is in a sandbox of OpenOxide, in which no other one can be made.
    #[error("this is already a sandbox of OpenOxide, and another one inside of it is not possible")]
    Nested,
    /// A port cannot be published.
    #[error("cannot publish port {}: {}", port.port(), describe_port_error(*port, error))]
    PortUnavailable {
        /// The port.
        port: PublishedPort,
        /// The error from the kernel.
        error: io::Error,
    },
    /// This machine cannot hold the profile with any backend.
    #[error("{refusal}{}", describe_first_error(first.as_deref()))]
    Unavailable {
        /// The error of the backend that was tried first, if there was one.
        first: Option<Box<Self>>,
        /// The reasons why no backend enforces the profile.
        refusal: NoBackendError,
    },
}

/// Returns the reason that a port of the host cannot be used, and what would help.
pub(crate) fn describe_port_error(port: PublishedPort, error: &io::Error) -> String {
    let (inner, host_port) = (port.port(), port.host_port());
    match error.kind() {
        io::ErrorKind::AddrInUse => format!(
            "another program uses port {host_port} of this machine; `--publish {inner}:HOSTPORT` \
             uses another port"
        ),
        io::ErrorKind::PermissionDenied => format!(
            "you are not permitted to listen on port {host_port} of this machine; \
             `--publish {inner}` uses port {inner}"
        ),
        _ => format!("port {host_port} of this machine: {error}"),
    }
}

fn describe_first_error(first: Option<&SandboxError>) -> String {
    first.map_or_else(String::new, |first| format!("\n  tried: {first}"))
}

/// An extension trait that adds the failed step to an error.
pub(crate) trait SetupContext<T> {
    /// Converts the error to a [`SandboxError`] with the step that failed.
    fn with_step(self, what: impl FnOnce() -> String) -> Result<T, SandboxError>;
}

impl<T, E: Into<io::Error>> SetupContext<T> for Result<T, E> {
    fn with_step(self, what: impl FnOnce() -> String) -> Result<T, SandboxError> {
        self.map_err(|error| SandboxError::Setup { step: what(), error: error.into() })
    }
}
