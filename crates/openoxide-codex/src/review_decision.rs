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
    /// Once.
    Approved,
    /// And a rule is written that allows what begins with these words.
    ApprovedExecpolicyAmendment {
        /// The words.
        proposed_execpolicy_amendment: Vec<String>,
    },
    /// As long as the session lasts, for the same call or the same files.
    ApprovedForSession,
    /// And this tool of an MCP server is allowed permanently.
    ApprovedMcpPolicyAmendment,
    /// A rule about the host is written.
    NetworkPolicyAmendment {
        /// The rule.
        network_policy_amendment: NetworkPolicyAmendment,
    },
    /// No, and the model goes on.
    Denied {
        /// The message that the model is shown; empty where the server writes it.
        rejection: String,
    },
    /// There was no answer in time.
    TimedOut,
    /// No, and the turn ends.
    Abort,
}

impl CodexReviewDecision {
    /// Returns the denial after which the model goes on, without a message.
    #[must_use]
    pub const fn new_denial() -> Self {
        Self::Denied { rejection: String::new() }
    }
}

/// A rule about a host that a person wants.
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
