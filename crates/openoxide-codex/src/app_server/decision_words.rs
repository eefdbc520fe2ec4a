//! The answers of a person in the words of the app server: `accept` for `approved`, and so on.
//!
//! Use with `#[serde(with = "decision_words")]` on a field.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

use crate::review_decision::{CodexReviewDecision, NetworkPolicyAmendment};

/// A decision on the wire. The app server uses other names than the core for variants and fields,
/// and its denial has no message, so serde attributes on [`CodexReviewDecision`] do not suffice.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
enum WireDecision {
    Accept,
    AcceptForSession,
    AcceptWithExecpolicyAmendment { execpolicy_amendment: Vec<String> },
    ApplyNetworkPolicyAmendment { network_policy_amendment: NetworkPolicyAmendment },
    Decline,
    Cancel,
}

impl From<WireDecision> for CodexReviewDecision {
    fn from(decision: WireDecision) -> Self {
        match decision {
            WireDecision::Accept => Self::Approved,
            WireDecision::AcceptForSession => Self::ApprovedForSession,
            WireDecision::AcceptWithExecpolicyAmendment { execpolicy_amendment } => {
                Self::ApprovedExecpolicyAmendment {
                    proposed_execpolicy_amendment: execpolicy_amendment,
                }
            }
            WireDecision::ApplyNetworkPolicyAmendment { network_policy_amendment } => {
                Self::NetworkPolicyAmendment { network_policy_amendment }
            }
            WireDecision::Decline => Self::new_denial(),
            WireDecision::Cancel => Self::Abort,
        }
    }
}

impl From<CodexReviewDecision> for WireDecision {
    fn from(decision: CodexReviewDecision) -> Self {
        match decision {
            CodexReviewDecision::Approved => Self::Accept,
            CodexReviewDecision::ApprovedForSession => Self::AcceptForSession,
            CodexReviewDecision::ApprovedExecpolicyAmendment { proposed_execpolicy_amendment } => {
                Self::AcceptWithExecpolicyAmendment {
                    execpolicy_amendment: proposed_execpolicy_amendment,
                }
            }
            CodexReviewDecision::NetworkPolicyAmendment { network_policy_amendment } => {
                Self::ApplyNetworkPolicyAmendment { network_policy_amendment }
            }
            // The app server has no words for the last two variants. A denial is the safe answer.
            CodexReviewDecision::Denied { .. }
            | CodexReviewDecision::TimedOut
            | CodexReviewDecision::ApprovedMcpPolicyAmendment => Self::Decline,
            CodexReviewDecision::Abort => Self::Cancel,
        }
    }
}

/// Returns a decision in the words of the app server.
pub(super) fn to_json(decision: &CodexReviewDecision) -> Value {
    json!(WireDecision::from(decision.clone()))
}

/// Serializes a list of decisions.
///
/// # Errors
/// Returns the error of the serializer.
#[expect(clippy::ref_option, reason = "serde passes the field")]
pub(crate) fn serialize<S: Serializer>(
    decisions: &Option<Vec<CodexReviewDecision>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let words = decisions
        .as_ref()
        .map(|decisions| decisions.iter().cloned().map(WireDecision::from).collect::<Vec<_>>());
    words.serialize(serializer)
}

/// Deserializes a list of decisions.
///
/// # Errors
/// Returns an error if the app server has no decision of this name.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Vec<CodexReviewDecision>>, D::Error> {
    let words = Option::<Vec<WireDecision>>::deserialize(deserializer)?;
    Ok(words.map(|words| words.into_iter().map(CodexReviewDecision::from).collect()))
}
