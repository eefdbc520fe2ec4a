//! Session events, for observers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApprovalRequest, CallId, Effect, Resolution, SessionId};

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionEvent {
    /// A decision was made without a reviewer.
    Decided {
        /// The session.
        session: SessionId,
        /// The tool call.
        call: CallId,
        /// The effect of the decision.
        effect: Effect,
    },
    /// A reviewer is asked.
    Asked {
        /// The request.
        request: Box<ApprovalRequest>,
    },
    /// A pending request ended.
    Resolved {
        /// The resolution of the request.
        resolution: Resolution,
    },
}
