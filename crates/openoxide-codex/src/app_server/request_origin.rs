//! The id and the origin of a request.

use serde::{Deserialize, Serialize};

/// The id of a request. The server uses numbers; other clients may use strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A number.
    Number(i64),
    /// A string.
    Text(String),
}

/// The fields that identify the origin of a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOrigin {
    /// The id of the conversation.
    pub thread_id: String,
    /// The id of the turn, which is the person's last prompt.
    pub turn_id: String,
    /// The id of the call.
    pub item_id: String,
    /// The start time in milliseconds since 1970.
    pub started_at_ms: i64,
}
