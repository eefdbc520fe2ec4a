//! What a person said, as it is written down: the choice, for how long, and what it keeps.

use openoxide_protocol::{
    ApprovalRequest, ApprovalResponse, GrantScope, ReviewDecision, RuleBreadth,
};
use serde::{Deserialize, Serialize};

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// Where the person was asked.
    pub channel: AnswerChannel,
    /// The choice.
    pub choice: ReviewDecision,
    /// The command and the terminal that answered, where it was another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// For how long a yes counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<GrantScope>,
    /// What a yes for the project keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<GrantRecord>,
}

/// What a yes for the project keeps, and how far that reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantRecord {
    /// Which of the choices: narrower, as offered or wider; nothing if the rules are of several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<RuleBreadth>,
    /// The rules.
    pub rules: Vec<String>,
    /// They end after so many seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<u64>,
    /// They count for so many decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<u32>,
    /// They count in this directory and below.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
    /// They count in this task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

impl AnswerRecord {
    /// Returns the record of what a person said to a request.
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

/// Where a person was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerChannel {
    /// The inline prompt.
    Terminal,
    /// `openoxide approve` or `deny`.
    Command,
}
