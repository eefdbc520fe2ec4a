//! The answers to requests.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{decision_words, request_origin::RequestId};
use crate::review_decision::CodexReviewDecision;

/// An answer to a request for more permissions: the granted permissions and their duration. A
/// denial grants no permissions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionsAnswer {
    /// The granted permissions, in the form of the request.
    pub permissions: Value,
    /// The duration of the grant.
    pub scope: PermissionsScope,
    /// True if each command of the turn is reviewed from now on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strict_auto_review: Option<bool>,
}

/// The duration for which more permissions are granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PermissionsScope {
    /// Until the current turn of the model ends.
    Turn,
    /// Until the conversation ends.
    Session,
}

/// Returns the line that answers a request.
#[must_use]
pub fn render_response(id: &RequestId, decision: &CodexReviewDecision) -> Value {
    json!({ "id": id, "result": { "decision": decision_words::to_json(decision) } })
}
