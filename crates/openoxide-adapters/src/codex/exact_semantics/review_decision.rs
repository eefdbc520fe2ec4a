//! What a person answers Codex, as its core has it (`ReviewDecision`; the app server's words are those of `wire`).

use serde::{Deserialize, Serialize};

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodexReviewDecision {
    /// Once.
    Approved,
    /// And a rule is written that allows what begins with these words.
    ApprovedExecpolicyAmendment {
        /// The words.
        proposed_execpolicy_amendment: Vec<String>,
    },
    /// As long as the session lasts.
    ApprovedForSession,
    /// And this tool of an MCP server is allowed for good.
    ApprovedMcpPolicyAmendment,
    /// A rule about the host is written.
    NetworkPolicyAmendment {
        /// The rule.
        network_policy_amendment: NetworkAmendment,
    },
    /// No, and the model goes on.
    Denied {
        /// What it is told.
        rejection: String,
    },
    /// Nobody has answered.
    TimedOut,
    /// No, and the turn ends.
    Abort,
}

/// A rule about a host that a person wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkAmendment {
    /// The host.
    pub host: String,
    /// Whether it is allowed.
    pub action: NetworkAction,
}

/// What a rule about a host says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAction {
    /// It may be reached.
    Allow,
    /// It may not.
    Deny,
}
