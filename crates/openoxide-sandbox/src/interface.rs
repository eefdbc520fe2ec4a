//! The types that callers of this crate exchange with it: the launch of a program, the questions
//! while it runs, the report at its end, and errors.
//!
//! Every module of the crate may use them, and `lib.rs` exports them.

mod error;
mod launch_config;
mod refused_operation;
mod run_report;
mod runtime_request;

pub use error::SandboxError;
pub(crate) use error::{SetupContext, describe_port_error};
pub use launch_config::{HostAgent, LaunchConfig, PrivateDirectory, ResourceLimits};
pub use refused_operation::RefusedOperation;
pub use run_report::{
    CommandOutcome, FailureCause, PostRunFinding, ReachedLimit, RefusedAddress, SandboxDenial,
    SandboxReport,
};
pub use runtime_request::{FileOperation, RequestedChange, RuntimeDecision, RuntimeRequest};
