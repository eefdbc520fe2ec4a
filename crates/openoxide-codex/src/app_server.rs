//! The approval requests of the Codex app server, and the answers that clients may give (0.169: its
//! own schema, and recorded messages).
//!
//! The messages are JSON-RPC without `jsonrpc`, one per line. Unknown fields are kept, so that a
//! message can be written again as it was read. Every field that may be `null` may also be left
//! out.

use openoxide_protocol::Action;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::review_decision::{NetworkPolicyAmendment, ReviewDecision};
use openoxide_adapters::quote_words;

pub(crate) mod decision_words;
mod responses;
mod server_message;
mod tool_approval;

pub use responses::{PermissionsAnswer, PermissionsScope};
pub use server_message::{CallError, ItemId, ServerMessage, parse_server_message};
pub use tool_approval::{
    PersistScope, StartedCall, ToolApproval, ToolApprovalKind, ToolCall, ToolDecision,
};

/// The answers to a question about a command that does not list its answers.
pub(crate) static PLAIN_DECISIONS: [ReviewDecision; 3] =
    [ReviewDecision::Approved, ReviewDecision::new_denial(), ReviewDecision::Abort];

/// The id of a request. The server uses numbers; other clients may use strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RequestId {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// A request for an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRequest {
    /// The answer names it.
    pub id: RequestId,
    /// The method and the parameters of the request.
    #[serde(flatten)]
    pub params: ApprovalParams,
}

/// The method and the parameters of an approval request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params")]
pub enum ApprovalParams {
    /// To run a command, to write to one that runs, or to reach a host.
    #[serde(rename = "item/commandExecution/requestApproval")]
    Command(Box<CommandApproval>),
    /// To change files: those of the item that was started before.
    #[serde(rename = "item/fileChange/requestApproval")]
    FileChange(Box<FileChangeApproval>),
    /// To have more permissions for a while.
    #[serde(rename = "item/permissions/requestApproval")]
    Permissions(Box<PermissionsApproval>),
    /// To call a tool of an MCP server.
    #[serde(rename = "mcpServer/elicitation/request")]
    Tool(Box<ToolApproval>),
}

/// The origin of a request, which all requests have in common.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestOrigin {
    /// The conversation.
    pub thread_id: String,
    /// The turn: the person's last prompt.
    pub turn_id: String,
    /// The call.
    pub item_id: String,
    /// In milliseconds since 1970.
    pub started_at_ms: i64,
}

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
    pub available_decisions: Option<Vec<ReviewDecision>>,
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

/// A request to approve changes of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeApproval {
    /// The origin of the request; its item has the changes.
    #[serde(flatten)]
    pub origin: RequestOrigin,
    /// The reason for the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The directory that an approval would make writable for the rest of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// More permissions are wanted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionsApproval {
    /// The origin of the request.
    #[serde(flatten)]
    pub origin: RequestOrigin,
    /// The directory that paths count from.
    pub cwd: String,
    /// The requested permissions: `fileSystem` and `network`.
    pub permissions: Value,
    /// The reason for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The machine that it is about: `local`, unless it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<String>,
    /// All else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Parses a line if it is an approval request.
///
/// # Errors
/// Returns an error if the line is an approval request that is not understood. Such a request must
/// not be treated as answered.
pub fn parse_request(line: &Value) -> Result<Option<ServerRequest>, serde_json::Error> {
    let method = line.get("method").and_then(Value::as_str).unwrap_or_default();
    let asks = match method {
        tool_approval::ELICITATION_METHOD => {
            line.get("params").is_some_and(tool_approval::is_tool_approval)
        }
        method => method.ends_with("/requestApproval"),
    };
    let asks = asks && line.get("id").is_some();
    asks.then(|| ServerRequest::deserialize(line)).transpose()
}

/// Returns the line that answers a request.
#[must_use]
pub fn render_response(id: &RequestId, decision: &ReviewDecision) -> Value {
    json!({ "id": id, "result": { "decision": decision_words::to_json(decision) } })
}

impl ApprovalParams {
    /// Returns the conversation.
    #[must_use]
    pub fn thread_id(&self) -> &str {
        match self {
            Self::Tool(approval) => &approval.thread_id,
            Self::Command(approval) => &approval.origin.thread_id,
            Self::FileChange(approval) => &approval.origin.thread_id,
            Self::Permissions(approval) => &approval.origin.thread_id,
        }
    }

    /// Returns the name of the call, or of the tool where the call is not named.
    #[must_use]
    pub fn call_name(&self) -> &str {
        match self {
            Self::Tool(approval) => &approval.call.tool_name,
            Self::Command(approval) => &approval.origin.item_id,
            Self::FileChange(approval) => &approval.origin.item_id,
            Self::Permissions(approval) => &approval.origin.item_id,
        }
    }
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
    pub fn allows_decision(&self, decision: &ReviewDecision) -> bool {
        match &self.available_decisions {
            // Codex always accepts an answer that declines and lets the model go on.
            Some(offered) => {
                offered.contains(decision) || matches!(decision, ReviewDecision::Denied { .. })
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

#[cfg(test)]
mod tests;
