//! The resolution of a request.

use openoxide_protocol::{ApprovalResponse, ResolutionKind};
use serde::{Deserialize, Serialize};

use crate::audit::UtcTimestamp;

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum RequestResolutionKind {
    /// A reviewer answered the request, or another request whose answer also ended this one.
    Resolved {
        /// The kind of resolution.
        kind: ResolutionKind,
        /// The answer.
        response: ApprovalResponse,
    },
    /// The request was not answered in time.
    Expired,
    /// The requester withdrew it.
    Withdrawn,
    /// The process of the requester has exited.
    Abandoned,
}

/// The resolution of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResolution {
    /// How the request ended.
    pub kind: RequestResolutionKind,
    /// A description of who ended the request.
    pub resolved_by: String,
    /// The time at which the request ended.
    pub resolved_at: UtcTimestamp,
}
