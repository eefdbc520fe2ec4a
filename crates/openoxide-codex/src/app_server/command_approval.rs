//! Approval requests for commands and for hosts.

use openoxide_protocol::Action;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{decision_words, request_origin::RequestOrigin};
use crate::review_decision::{CodexReviewDecision, NetworkPolicyAmendment};
use openoxide_adapters::quote_words;

/// The answers to a question about a command that does not list its answers.
pub(crate) static PLAIN_DECISIONS: [CodexReviewDecision; 3] =
    [CodexReviewDecision::Approved, CodexReviewDecision::new_denial(), CodexReviewDecision::Abort];

/// A request to approve a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandApproval {
    /// The origin of the request.
    #[serde(flatten)]
    pub origin: RequestOrigin,
    /// The kind of question.
    #[serde(default)]
    pub kind: CommandApprovalKind,
    /// The name of the question, where a call has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The reason for the question, in the words of the policy or of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The words of the command, quoted for a shell; a question about a host has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory it would run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The host that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_approval_context: Option<NetworkApprovalContext>,
    /// The words of a rule that would allow it permanently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    /// Rules about the host that would answer permanently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_network_policy_amendments: Option<Vec<NetworkPolicyAmendment>>,
    /// The possible answers; `accept`, `decline` and `cancel` if the field is missing.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "decision_words")]
    pub available_decisions: Option<Vec<CodexReviewDecision>>,
    /// The machine that it would run on: `local`, unless it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<String>,
    /// Permissions that the command wants in addition to its sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_permissions: Option<Value>,
    /// All else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The kinds of questions about commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandApprovalKind {
    /// To run it.
    #[default]
    Command,
    /// To write to one that runs.
    WriteStdin,
    /// To run it, where the administrator requires a person's approval each time.
    HumanCommand,
}

/// A host that a command wants to reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkApprovalContext {
    /// Its name.
    pub host: String,
    /// `http`, `https`, `socks5Tcp` or `socks5Udp`.
    pub protocol: String,
}

impl CommandApproval {
    /// Returns the requested action. A request for a host is a fetch, whatever command contacts the
    /// host. A command that is not made of shell words is opaque.
    #[must_use]
    pub fn to_action(&self) -> Action {
        if let Some(NetworkApprovalContext { host, protocol }) = &self.network_approval_context {
            let scheme = if protocol == "http" { "http" } else { "https" };
            return Action::Fetch { url: format!("{scheme}://{host}/") };
        }
        // Words that cannot be quoted are joined with plain blanks in this field.
        let quoted = self.command.as_deref().filter(|command| !command.contains('\0'));
        let words = quoted.and_then(shlex::split);
        match words {
            Some(words) if self.kind != CommandApprovalKind::WriteStdin => {
                Action::Command { script: extract_script(&words) }
            }
            _ => Action::Opaque { text: self.command.clone().unwrap_or_default() },
        }
    }

    /// Returns whether Codex offers this answer.
    #[must_use]
    pub fn allows_decision(&self, decision: &CodexReviewDecision) -> bool {
        match &self.available_decisions {
            // Codex always accepts an answer that declines and lets the model go on.
            Some(offered) => {
                offered.contains(decision) || matches!(decision, CodexReviewDecision::Denied { .. })
            }
            None => PLAIN_DECISIONS.contains(decision),
        }
    }
}

/// Returns the script that a shell was given, or the words as a script.
fn extract_script(words: &[String]) -> String {
    let shells = ["bash", "sh", "/bin/bash", "/bin/sh", "/usr/bin/bash", "/usr/bin/sh"];
    match words {
        [shell, flag, script]
            if shells.contains(&shell.as_str()) && matches!(flag.as_str(), "-c" | "-lc") =>
        {
            script.clone()
        }
        words => quote_words(words),
    }
}
