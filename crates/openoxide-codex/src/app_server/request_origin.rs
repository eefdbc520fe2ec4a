//! The id and the origin of a request.

use serde::{Deserialize, Serialize};

/// The id of a request. The server uses numbers; other clients may use strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// The origin of a request, which all requests have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOrigin {
    /// The conversation.
    pub thread_id: String,
    /// The turn: the person's last prompt.
    pub turn_id: String,
    /// The call.
    pub item_id: String,
    /// In milliseconds since 1970.
    pub started_at_ms: i64,
}
