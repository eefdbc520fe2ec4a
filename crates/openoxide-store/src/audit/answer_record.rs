//! The audit record of a person's answer: the choice, its scope and the saved grant.

use openoxide_protocol::{
    ApprovalRequest, ApprovalResponse, GrantScope, ReviewDecision, RuleBreadth,
};
use serde::{Deserialize, Serialize};

/// The answer of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The id of the request. It is the same in the record of the program that asked and in the
    /// record of the command that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// The channel through which the question was answered.
    pub channel: AnswerChannel,
    /// The choice.
    #[serde(alias = "choice")]
    pub decision: ReviewDecision,
    /// The command and the terminal that answered, if they are not those of the requester.
    #[serde(default, alias = "by", skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<String>,
    /// The scope of an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<GrantScope>,
    /// The grant that an approval for the project saves.
    #[serde(default, alias = "kept", skip_serializing_if = "Option::is_none")]
    pub grant: Option<GrantRecord>,
    /// The time from the question to the answer in milliseconds, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<u64>,
}

/// The rules that an approval for the project saves, and their limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GrantRecord {
    /// The breadth of the choice: narrower, as offered or wider. `None` if the rules come from
    /// several choices.
    #[serde(alias = "width", skip_serializing_if = "Option::is_none")]
    pub breadth: Option<RuleBreadth>,
    /// The rules.
    pub rules: Vec<String>,
    /// The number of seconds after which the rules expire.
    #[serde(alias = "seconds", skip_serializing_if = "Option::is_none")]
    pub expires_in_seconds: Option<u64>,
    /// The number of decisions that the rules are valid for.
    #[serde(alias = "times", skip_serializing_if = "Option::is_none")]
    pub max_uses: Option<u32>,
    /// The directory that the rules are limited to, including everything below it.
    #[serde(alias = "below", skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
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
        answered_by: Option<String>,
    ) -> Self {
        let scope = match response {
            ApprovalResponse::Approved { scope, .. } => Some(*scope),
            _ => None,
        };
        let grant = request.granted_terms(response).map(|terms| GrantRecord {
            breadth: request.choice_breadth(&terms.rules),
            expires_in_seconds: terms.expires_in_seconds,
            max_uses: terms.max_uses,
            directory: terms.directory.map(|path| path.to_string()),
            task: request.task.clone().filter(|_| terms.until_task_end),
            rules: terms.rules,
        });
        let (request, decision) = (Some(request.id.to_string()), response.review_decision());
        Self { request, channel, decision, answered_by, scope, grant, waited_ms: None }
    }

    /// Returns the record of an approval in the agent's own dialog.
    #[must_use]
    pub const fn approved_in_agent(waited_ms: u64) -> Self {
        Self {
            request: None,
            channel: AnswerChannel::Agent,
            decision: ReviewDecision::Approved,
            answered_by: None,
            scope: Some(GrantScope::Once),
            grant: None,
            waited_ms: Some(waited_ms),
        }
    }
}

/// The channel through which a question was answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerChannel {
    /// The inline prompt.
    Terminal,
    /// `openoxide approve` or `deny`.
    Command,
    /// The user interface of the program that asked, or its settings.
    Application,
    /// The dialog of the agent, after a hook left the call to it.
    Agent,
    /// The policy, which was changed while the question waited.
    Policy,
}
