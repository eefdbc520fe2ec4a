//! The end of a request.

use openoxide_protocol::{ApprovalResponse, ResolutionKind};
use serde::{Deserialize, Serialize};

use crate::audit::UtcTimestamp;

/// The way in which a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum RequestResolutionKind {
    /// A reviewer answered it, or another one so that it ended, too.
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

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResolution {
    /// The way in which the request ended.
    pub kind: RequestResolutionKind,
    /// A description of who ended the request.
    pub resolved_by: String,
    /// The time at which the request ended.
    pub resolved_at: UtcTimestamp,
}
