//! Approval requests for calls of MCP tools. Such a request arrives as a question of the MCP
//! server, and any server can send the same question itself: 0.169 passes its `_meta` on unchanged.
//! The two can be distinguished only by a notification that the call has started.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::request_origin::RequestId;

/// The method of all questions of MCP servers.
pub(super) const ELICITATION_METHOD: &str = "mcpServer/elicitation/request";

/// A request to approve a call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolApproval {
    /// The id of the conversation.
    pub thread_id: String,
    /// The id of the turn, which is the person's last prompt, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The name of the server in the configuration.
    pub server_name: String,
    /// The question, in Codex's words.
    pub message: String,
    /// The schema of the answer's content; empty if Codex asks.
    pub requested_schema: Value,
    /// The call that the question is about.
    #[serde(rename = "_meta")]
    pub call: McpToolCall,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The call of a tool, as described by the question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolCall {
    /// The kind of question.
    pub codex_approval_kind: McpToolApprovalKind,
    /// The name of the tool on the server.
    pub tool_name: String,
    /// The arguments of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_params: Option<Value>,
    /// The server's description of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_description: Option<String>,
    /// The scopes for which an approval may be saved: a word or a list of words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<Value>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The kinds of questions that are approvals of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum McpToolApprovalKind {
    /// A call of an MCP server's tool.
    McpToolCall,
}

/// A tool call that was reported as started.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StartedMcpCall {
    /// The name of the server.
    pub server: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the call.
    #[serde(default)]
    pub arguments: Value,
}

/// An answer to a question about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpToolDecision {
    /// Approves the call and saves the approval for the scope, if there is one.
    Accept(Option<PersistScope>),
    /// Denies the call.
    Decline,
    /// Cancels the question and the call.
    Cancel,
}

/// The scope for which an approval of a tool is saved, with any arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersistScope {
    /// The conversation.
    Session,
    /// Permanently, as a line in the configuration.
    Always,
}

/// Returns whether a server's question is marked as an approval of a tool.
pub(super) fn is_tool_approval(params: &Value) -> bool {
    params.get("_meta").is_some_and(|meta| meta.get("codex_approval_kind").is_some())
}

impl McpToolApproval {
    /// Returns whether Codex itself could have asked this question about a started call.
    #[must_use]
    pub fn matches_call(&self, begun: &StartedMcpCall) -> bool {
        let told = self.call.tool_params.as_ref().unwrap_or(&Value::Null);
        let nothing = json!({ "type": "object", "properties": {} });
        self.server_name == begun.server
            && self.call.tool_name == begun.tool
            && *told == begun.arguments
            && self.requested_schema == nothing
    }

    /// Returns whether the message is the one that Codex uses for every tool.
    #[must_use]
    pub fn is_standard_message(&self) -> bool {
        let (server, tool) = (&self.server_name, &self.call.tool_name);
        self.message == format!("Allow the {server} MCP server to run tool \"{tool}\"?")
    }

    /// Returns whether an approval may be saved for this scope.
    #[must_use]
    pub fn may_persist(&self, long: PersistScope) -> bool {
        let word = json!(long);
        self.call.persist.as_ref().is_some_and(|offered| match offered {
            Value::Array(offered) => offered.contains(&word),
            offered => *offered == word,
        })
    }
}

impl McpToolDecision {
    /// Returns the line that answers a request.
    #[must_use]
    pub fn render_line(self, id: &RequestId) -> Value {
        let result = match self {
            Self::Accept(None) => json!({ "action": "accept", "content": {} }),
            Self::Accept(Some(long)) => {
                json!({ "action": "accept", "content": {}, "_meta": { "persist": long } })
            }
            Self::Decline => json!({ "action": "decline" }),
            Self::Cancel => json!({ "action": "cancel" }),
        };
        json!({ "id": id, "result": result })
    }
}
