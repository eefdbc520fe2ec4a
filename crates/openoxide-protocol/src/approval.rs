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
    /// A command, with its working directory.
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
    /// The language, for highlighting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// More, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, Value>,
}

/// A question to a reviewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalRequest {
    /// The version of this shape.
    pub schema: u32,
    /// Its id.
    pub id: ApprovalId,
    /// The conversation that waits for the answer.
    pub session: SessionId,
    /// The tool that wants to run.
    pub tool: String,
    /// A one-line description of the request.
    pub title: String,
    /// The directory that it would run in.
    pub cwd: AbsPath,
    /// The content to show.
    pub presentation: RequestPresentation,
    /// The decision that requires the approval, with its parts, its findings and the rules that
    /// "always" would add.
    pub decision: Decision,
    /// The digest that the answer is bound to.
    pub digest: OperationDigest,
    /// Requests of one group can be answered together.
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
}

/// The time for which an approval is remembered.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// An approval of this request only, which is not remembered.
    Once,
    /// For exactly this operation, until the session ends.
    Session,
    /// An approval for the project, of the rules that "always" showed or of one of the
    /// alternatives.
    Project,
}

/// The choice with what it carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum ApprovalResponse {
    /// The request is approved.
    Approved {
        /// For how long.
        scope: GrantScope,
        /// The terms of a project grant, if they differ from the suggestion.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terms: Option<GrantTerms>,
    },
    /// No; the message reaches the model as a correction. Other requests of the session fall with it.
    Rejected {
        /// The message for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// No, to this request alone.
    Denied,
    /// Stop: this request and all others of the session are refused, and the turn ends.
    Cancelled,
}

/// The bare choice, as Codex has it: for keys and for the audit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// The request is approved once.
    Approved,
    /// The request is approved for the session.
    ApprovedForSession,
    /// The request is approved, and the rules that were shown are saved for the project.
    ApprovedExecpolicyAmendment,
    /// No.
    Denied,
    /// No, and stop.
    Abort,
}

impl ApprovalResponse {
    /// Returns an approval that saves the suggested rules, if its scope saves any.
    #[must_use]
    pub const fn new_approval(scope: GrantScope) -> Self {
        Self::Approved { scope, terms: None }
    }

    /// Returns the bare choice.
    #[must_use]
    pub const fn review_decision(&self) -> ReviewDecision {
        match self {
            Self::Approved { scope: GrantScope::Once, .. } => ReviewDecision::Approved,
            Self::Approved { scope: GrantScope::Session, .. } => ReviewDecision::ApprovedForSession,
            Self::Approved { scope: GrantScope::Project, .. } => {
                ReviewDecision::ApprovedExecpolicyAmendment
            }
            Self::Denied => ReviewDecision::Denied,
            Self::Rejected { .. } | Self::Cancelled => ReviewDecision::Abort,
        }
    }
}

/// The kind of end of one pending request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionKind {
    /// This very request was answered.
    Answered,
    /// The request was decided without its own answer: by a grant from another answer, by another
    /// mode or by another policy.
    Retroactive,
    /// Another request of the session was rejected.
    Cascade,
    /// The answer is no longer needed: the call was abandoned, or the session has ended.
    Withdrawn,
}

/// The end of one pending request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// The request.
    pub id: ApprovalId,
    /// The kind of end.
    pub kind: ResolutionKind,
    /// The answer that it ended with.
    pub response: ApprovalResponse,
}

impl ApprovalRequest {
    /// Returns the choices for a project grant, the narrowest first. The list is empty if the
    /// request requires explicit approval.
    #[must_use]
    pub fn choices(&self) -> Vec<RuleChoice> {
        if self.requires_explicit_approval || self.decision.suggested_rules.is_empty() {
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

    /// Returns which of the choices these rules are, if they are one.
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
        for scope in ["once", "session", "project"] {
            let text = format!(r#"{{"response":"approved","scope":"{scope}"}}"#);
            let response: ApprovalResponse = serde_json::from_str(&text).unwrap();
            assert!(matches!(response, ApprovalResponse::Approved { terms: None, .. }), "{text}");
            assert_eq!(serde_json::to_string(&response).unwrap(), text);
        }
    }
}
