//! Errors of option values. The parser of arguments adds the value and the option.

use openoxide_protocol::{HostPortError, PermissionMode};
use thiserror::Error;

/// The reason that the value of an option is not valid.
#[derive(Debug, Error)]
pub(crate) enum ValueError {
    /// The value is not an effect.
    #[error("expected allow, ask or deny")]
    UnknownEffect,
    /// The value is not a mode.
    #[error("expected one of {}", PermissionMode::ALL.map(PermissionMode::as_str).join(", "))]
    UnknownMode,
    /// The value is not a scope.
    #[error("expected once, session, directory or project")]
    UnknownScope,
    /// The value is not a duration.
    #[error("expected a duration, such as `30m`, `12h` or `7d`")]
    InvalidDuration,
    /// The duration is zero.
    #[error("it would expire immediately")]
    ZeroDuration,
    /// The value is neither a duration nor a date.
    #[error("expected a duration (`30m`, `12h`, `7d`) or a date (`2026-11-22`)")]
    InvalidSince,
    /// The value names no recorded call.
    #[error("expected `last` or the number of a record (`openoxide audit log`)")]
    UnknownCall,
    /// The value is not a host.
    #[error(transparent)]
    InvalidHost(#[from] HostPortError),
}
