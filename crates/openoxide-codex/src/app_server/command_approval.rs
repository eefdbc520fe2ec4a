//! Approval requests for commands and for hosts.

use openoxide_protocol::Action;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{decision_words, request_origin::RequestOrigin};
use crate::review_decision::{CodexReviewDecision, NetworkPolicyAmendment};
use openoxide_adapters::quote_words;

/// The possible answers if a request to approve a command does not list them.
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
    /// The id of the question, if a call has several questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_id: Option<String>,
    /// The reason for the question, in the words of the policy or of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The words of the command, quoted for a shell; `None` if the question is about a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The directory that the command would run in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The host, if the question is about a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_approval_context: Option<NetworkApprovalContext>,
    /// The words of a rule that would allow the command permanently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_execpolicy_amendment: Option<Vec<String>>,
    /// Rules that would permanently allow or deny the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed_network_policy_amendments: Option<Vec<NetworkPolicyAmendment>>,
    /// The possible answers; `accept`, `decline` and `cancel` if the field is missing.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "decision_words")]
    pub available_decisions: Option<Vec<CodexReviewDecision>>,
    /// The machine that the command would run on; `local` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<String>,
    /// Permissions that the command requests in addition to its sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub additional_permissions: Option<Value>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The kinds of questions about commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandApprovalKind {
    /// To run a command.
    #[default]
    Command,
    /// To write to the input of a running command.
    WriteStdin,
    /// To run a command for which the administrator requires a person's approval each time.
    HumanCommand,
}

/// A host that a command tries to reach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkApprovalContext {
    /// The name of the host.
    pub host: String,
    /// The protocol: `http`, `https`, `socks5Tcp` or `socks5Udp`.
    pub protocol: String,
}

impl CommandApproval {
    /// Returns the requested action. A request for a host is a fetch, regardless of the command
    /// that contacts the host. A command that does not consist of shell words is opaque.
    #[must_use]
    pub fn to_action(&self) -> Action {
        if let Some(NetworkApprovalContext { host, protocol }) = &self.network_approval_context {
            let scheme = if protocol == "http" { "http" } else { "https" };
            return Action::Fetch { url: format!("{scheme}://{host}/") };
        }
        // Codex joins words that cannot be quoted with plain blanks in this field.
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
            // Codex always accepts a denial after which the model continues.
            Some(offered) => {
                offered.contains(decision) || matches!(decision, CodexReviewDecision::Denied { .. })
            }
            None => PLAIN_DECISIONS.contains(decision),
        }
    }
}

/// Returns the script that is passed to a shell, or the words as a script.
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
