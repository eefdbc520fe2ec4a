//! A person's answer to an approval request (Codex's `ReviewDecision`), and the rule about a host
//! that an answer can contain.
//!
//! Codex's core and its app server use different words for the same answers. The serialized form
//! here is that of the core. `app_server::decision_words` converts it to the words of the app
//! server.

use serde::{Deserialize, Serialize};

/// An answer to an approval request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodexReviewDecision {
    /// Approves the request once.
    Approved,
    /// Approves the request and writes a rule that allows commands with this prefix.
    ApprovedExecpolicyAmendment {
        /// The words of the prefix.
        proposed_execpolicy_amendment: Vec<String>,
    },
    /// Approves the same call or the same files until the session ends.
    ApprovedForSession,
    /// Approves the request and allows this tool of an MCP server permanently.
    ApprovedMcpPolicyAmendment,
    /// Writes a rule about the host.
    NetworkPolicyAmendment {
        /// The rule.
        network_policy_amendment: NetworkPolicyAmendment,
    },
    /// Denies the request. The model continues.
    Denied {
        /// The message that the model is shown; empty if the server writes it.
        rejection: String,
    },
    /// No answer was given in time.
    TimedOut,
    /// Denies the request and ends the turn.
    Abort,
}

impl CodexReviewDecision {
    /// Returns a denial without a message. The model continues after it.
    #[must_use]
    pub const fn new_denial() -> Self {
        Self::Denied { rejection: String::new() }
    }
}

/// A rule about a host, as part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPolicyAmendment {
    /// The host.
    pub host: String,
    /// The action for the host.
    pub action: NetworkPolicyRuleAction,
}

/// The action of a rule about a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkPolicyRuleAction {
    /// The host may be reached.
    Allow,
    /// The host may not be reached.
    Deny,
    /// Another action, which is treated as a denial.
    #[serde(untagged)]
    Other(String),
}

impl NetworkPolicyRuleAction {
    /// Returns the action in the words of the messages.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Allow => "allow",
            Self::Deny => "deny",
            Self::Other(word) => word,
        }
    }
}
