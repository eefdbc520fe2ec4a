//! Approval requests to a reviewer and the responses to them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    AbsPath, ApprovalId, Decision, GrantTerms, OperationDigest, RuleBreadth, RuleChoice, SessionId,
};

/// The recommended form of presentation for a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PresentationKind {
    /// Plain text.
    Text,
    /// A unified diff.
    Diff,
    /// The content of a file that would be written.
    FileContent,
    /// A command with its working directory.
    Command,
    /// Structured data, as JSON.
    Structured,
}

/// The presentation of a request for a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPresentation {
    /// The form of presentation.
    #[serde(rename = "type")]
    pub kind: PresentationKind,
    /// The content to show. It comes from an agent and is untrusted. Escape it before showing it.
    pub content: String,
    /// A summary of the content and of the accesses that no rule matches. A prompt shows it instead
    /// of them until the reviewer wants to view all. Only OpenOxide creates it, and it names
    /// everything in the content that is unusual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// The language, for highlighting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Additional data, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
}

/// A question to a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// The version of the JSON format.
    pub schema: u32,
    /// The id of the request.
    pub id: ApprovalId,
    /// The session that waits for the answer.
    pub session: SessionId,
    /// The tool that the agent calls.
    pub tool: String,
    /// A one-line description of the request.
    pub title: String,
    /// The working directory of the operation.
    pub cwd: AbsPath,
    /// The content to show.
    pub presentation: RequestPresentation,
    /// The decision that requires the approval, with its parts, its findings and the rules that
    /// "always" would add.
    pub decision: Decision,
    /// The digest that the answer is bound to.
    pub digest: OperationDigest,
    /// The name of the group. Requests of one group can be answered together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// True if the request requires explicit approval. No batch and no option that approves
    /// everything replaces it (Aider's `explicit_yes_required`).
    #[serde(default, rename = "explicit", alias = "explicit_yes_required")]
    pub requires_explicit_approval: bool,
    /// Narrower and wider rules than those of [`Decision::suggested_rules`], if there are any.
    /// [`Self::choices`] returns all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<RuleChoice>,
    /// The task that the call belongs to, if the end of the task can be detected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// The directory that an approval with [`GrantScope::Directory`] covers, if that is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<AbsPath>,
}

/// The time for which an approval is remembered.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// An approval of this request only, which is not remembered.
    Once,
    /// An approval of exactly this operation, until the session ends.
    Session,
    /// An approval of changes in [`ApprovalRequest::directory`] and below it, until the session ends.
    /// It does not cover files that a rule or the safety floor asks about.
    Directory,
    /// An approval for the project, of the suggested rules or of one of the alternatives.
    Project,
}

/// The reviewer's answer with its details.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum ApprovalResponse {
    /// The request is approved.
    Approved {
        /// The time for which the approval is remembered.
        scope: GrantScope,
        /// The terms of a project grant, if they differ from the suggestion.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terms: Option<GrantTerms>,
    },
    /// The request is rejected. The message is passed to the model as a correction. Other requests
    /// of the session are rejected too.
    Rejected {
        /// The message for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Only this request is rejected.
    Denied,
    /// This request and all others of the session are refused, and the turn ends.
    Cancelled,
}

/// The choice without details, in Codex's terms: for keys and for the audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// The request is approved once.
    Approved,
    /// The request is approved for the session.
    ApprovedForSession,
    /// The request is approved, and the rules that were shown are saved for the project.
    ApprovedExecpolicyAmendment,
    /// The request is denied.
    Denied,
    /// The request is denied, and the turn ends.
    Abort,
}

impl ApprovalResponse {
    /// Returns an approval that saves the suggested rules, if its scope saves rules.
    #[must_use]
    pub const fn new_approval(scope: GrantScope) -> Self {
        Self::Approved { scope, terms: None }
    }

    /// Returns the choice without details.
    #[must_use]
    pub const fn review_decision(&self) -> ReviewDecision {
        match self {
            Self::Approved { scope: GrantScope::Once, .. } => ReviewDecision::Approved,
            Self::Approved { scope: GrantScope::Session | GrantScope::Directory, .. } => {
                ReviewDecision::ApprovedForSession
            }
            Self::Approved { scope: GrantScope::Project, .. } => {
                ReviewDecision::ApprovedExecpolicyAmendment
            }
            Self::Denied => ReviewDecision::Denied,
            Self::Rejected { .. } | Self::Cancelled => ReviewDecision::Abort,
        }
    }
}

/// The way in which a pending request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionKind {
    /// This request was answered.
    Answered,
    /// The request was decided without its own answer: by a grant from another answer, by another
    /// mode or by another policy.
    Retroactive,
    /// Another request of the session was rejected.
    Cascade,
    /// The answer is no longer needed: the call was abandoned, or the session has ended.
    Withdrawn,
}

/// The resolution of one pending request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// The id of the request.
    pub id: ApprovalId,
    /// The way in which the request ended.
    pub kind: ResolutionKind,
    /// The response that the request ended with.
    pub response: ApprovalResponse,
}

impl ApprovalRequest {
    /// Returns the choices for a project grant, narrowest first. The list is empty if the request
    /// requires explicit approval, or if its summary does not show the rules.
    #[must_use]
    pub fn choices(&self) -> Vec<RuleChoice> {
        let is_summarized = self.presentation.summary.is_some();
        if self.requires_explicit_approval
            || is_summarized
            || self.decision.suggested_rules.is_empty()
        {
            return Vec::new();
        }
        let offered = RuleChoice {
            breadth: RuleBreadth::Suggested,
            rules: self.decision.suggested_rules.clone(),
        };
        let mut choices = self.alternatives.clone();
        choices.retain(|choice| choice.breadth != RuleBreadth::Suggested);
        choices.push(offered);
        choices.sort_by_key(|choice| choice.breadth);
        choices
    }

    /// Returns the choice that consists of these rules, if there is one.
    #[must_use]
    pub fn choice_breadth(&self, rules: &[String]) -> Option<RuleBreadth> {
        self.choices().into_iter().find(|choice| choice.rules == rules).map(|choice| choice.breadth)
    }

    /// Returns the terms of the project grant in a response.
    ///
    /// Returns `None` if the response is not such an approval, if it names a rule that is not among
    /// the choices, or if it is limited to a task whose end cannot be detected. The approval is
    /// then valid once.
    #[must_use]
    pub fn granted_terms(&self, response: &ApprovalResponse) -> Option<GrantTerms> {
        let ApprovalResponse::Approved { scope: GrantScope::Project, terms } = response else {
            return None;
        };
        let mut terms = terms.clone().unwrap_or_default();
        let choices = self.choices();
        let is_offered = |rule| choices.iter().any(|choice| choice.rules.contains(rule));
        let endless = terms.until_task_end && self.task.is_none();
        if choices.is_empty() || endless || !terms.rules.iter().all(is_offered) {
            return None;
        }
        if terms.rules.is_empty() {
            terms.rules.clone_from(&self.decision.suggested_rules);
        }
        Some(terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The JSON of responses without terms is the same as before terms were introduced.
    #[test]
    fn an_approval_without_terms_keeps_its_json_form() {
        for scope in ["once", "session", "directory", "project"] {
            let text = format!(r#"{{"response":"approved","scope":"{scope}"}}"#);
            let response: ApprovalResponse = serde_json::from_str(&text).unwrap();
            assert!(matches!(response, ApprovalResponse::Approved { terms: None, .. }), "{text}");
            assert_eq!(serde_json::to_string(&response).unwrap(), text);
        }
    }
}
