//! What goes to the reviewer, and what comes back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AbsPath, ApprovalId, Decision, GrantTerms, OperationDigest, RuleChoice, SessionId};

/// How a request is best shown (seed 001).
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

/// What a reviewer is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequestPresentation {
    /// How to show it.
    #[serde(rename = "type")]
    pub kind: PresentationKind,
    /// What to show. It comes from an agent and is hostile: who shows it escapes it.
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
    /// One line that says what is wanted.
    pub title: String,
    /// The directory that it would run in.
    pub cwd: AbsPath,
    /// What to show.
    pub presentation: RequestPresentation,
    /// Why a person is asked, part by part, with the findings and with what "always" would add.
    pub decision: Decision,
    /// What the answer is bound to.
    pub digest: OperationDigest,
    /// Requests of one group can be answered together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Only a yes to this very request counts: no batch, no flag that says yes to all (Aider's `explicit_yes_required`).
    #[serde(default)]
    pub explicit_yes_required: bool,
    /// Narrower and wider rules than those of [`CodexDecision::always`], where there are such. [`Self::choices`] has all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<RuleChoice>,
    /// The name of the task that it belongs to, where its end can be told: a yes can then hold until that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
}

/// How long a yes is remembered.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum GrantScope {
    /// Not at all: it counts for this request.
    Once,
    /// For exactly this operation, until the session ends.
    Session,
    /// For the rules that "always" showed, or others that were shown beside them, for the project.
    Project,
}

/// The choice with what it carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "response", rename_all = "snake_case")]
pub enum ApprovalResponse {
    /// Yes.
    Approved {
        /// For how long.
        scope: GrantScope,
        /// What a yes for the project keeps, where it is not simply what was offered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        terms: Option<GrantTerms>,
    },
    /// No; the message reaches the model as a correction. Other requests of the session fall with it.
    Rejected {
        /// What to do instead.
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
    /// Yes, once.
    Approved,
    /// Yes, for the session.
    ApprovedForSession,
    /// Yes, and the rules that were shown are kept for the project.
    ApprovedExecpolicyAmendment,
    /// No.
    Denied,
    /// No, and stop.
    Abort,
}

impl ApprovalResponse {
    /// Returns a yes that keeps what was offered, if it keeps anything.
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

/// How one pending request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ResolutionKind {
    /// This very request was answered.
    Answered,
    /// It is decided without an answer now: by a grant that another answer gave, another mode or another policy.
    Retroactive,
    /// Another request of the session was rejected.
    Cascade,
    /// Nobody waits for its answer any more: the call was given up, or the session has ended.
    Withdrawn,
}

/// The end of one pending request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resolution {
    /// The request.
    pub id: ApprovalId,
    /// How it ended.
    pub kind: ResolutionKind,
    /// The answer that it ended with.
    pub response: ApprovalResponse,
}
