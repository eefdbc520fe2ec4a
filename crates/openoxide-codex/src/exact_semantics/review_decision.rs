//! The answers of a person in the form of Codex's core (`ReviewDecision`). The app server's form is
//! in `app_server`.

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
    /// And this tool of an MCP server is allowed permanently.
    ApprovedMcpPolicyAmendment,
    /// A rule about the host is written.
    NetworkPolicyAmendment {
        /// The rule.
        network_policy_amendment: NetworkAmendment,
    },
    /// No, and the model goes on.
    Denied {
        /// The message that the model is shown.
        rejection: String,
    },
    /// There was no answer in time.
    TimedOut,
    /// No, and the turn ends.
    Abort,
}

/// A rule about a host that a person wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkAmendment {
    /// The host.
    pub host: String,
    /// The action for the host.
    pub action: NetworkAction,
}

/// The action of a rule about a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkAction {
    /// The host may be reached.
    Allow,
    /// The host may not be reached.
    Deny,
}
