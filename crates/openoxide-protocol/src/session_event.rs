//! Session events, for observers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{ApprovalRequest, CallId, Effect, Resolution, SessionId};

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum SessionEvent {
    /// A decision was made without a reviewer.
    Decided {
        /// The conversation.
        session: SessionId,
        /// The call.
        call: CallId,
        /// The answer.
        effect: Effect,
    },
    /// A reviewer is asked.
    Asked {
        /// The question.
        request: Box<ApprovalRequest>,
    },
    /// A pending request ended.
    Resolved {
        /// The resolution of the request.
        resolution: Resolution,
    },
}
