//! The audit record of a person's answer: the choice, its scope and the saved grant.

use openoxide_protocol::{
    ApprovalRequest, ApprovalResponse, GrantScope, ReviewDecision, RuleBreadth,
};
use serde::{Deserialize, Serialize};

/// The answer of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The channel through which the person answered.
    pub channel: AnswerChannel,
    /// The choice.
    pub choice: ReviewDecision,
    /// The command and the terminal that answered, where it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The scope of an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<GrantScope>,
    /// The grant that an approval for the project saves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<GrantRecord>,
}

/// The rules that an approval for the project saves, and their limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantRecord {
    /// The breadth of the choice: narrower, as offered or wider; `None` if the rules come from
    /// several choices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<RuleBreadth>,
    /// The rules.
    pub rules: Vec<String>,
    /// The number of seconds after which the rules expire.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// The number of decisions that the rules are valid for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// The directory that the rules are limited to, including everything below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// The task that the rules are limited to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl AnswerRecord {
    /// Returns the record of an answer to a request.
    #[must_use]
    pub fn new(
        request: &ApprovalRequest,
        response: &ApprovalResponse,
        channel: AnswerChannel,
        by: Option<String>,
    ) -> Self {
        let scope = match response {
            ApprovalResponse::Approved { scope, .. } => Some(*scope),
            _ => None,
        };
        let kept = request.granted_terms(response).map(|terms| GrantRecord {
            width: request.choice_breadth(&terms.rules),
            seconds: terms.seconds,
            times: terms.times,
            below: terms.below.map(|below| below.to_string()),
            task: request.task.clone().filter(|_| terms.task),
            rules: terms.rules,
        });
        Self { channel, choice: response.review_decision(), by, scope, kept }
    }
}

/// The channel through which a person answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerChannel {
    /// The inline prompt.
    Terminal,
    /// `openoxide approve` or `deny`.
    Command,
}
