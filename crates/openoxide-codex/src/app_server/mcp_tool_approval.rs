//! Approval requests for calls of MCP tools. Such a request arrives as a question of the MCP
//! server, and any server can write the same question itself: 0.169 passes its `_meta` on
//! unchanged. Only a notification that the call has started tells the two apart.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::request_origin::RequestId;

/// The method of all questions of MCP servers.
pub(super) const ELICITATION_METHOD: &str = "mcpServer/elicitation/request";

/// A request to approve a call of a tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToolApproval {
    /// The conversation.
    pub thread_id: String,
    /// The turn: the person's last prompt, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The server, as the configuration names it.
    pub server_name: String,
    /// The question, in Codex's words.
    pub message: String,
    /// The schema of the answer's content; it is empty if Codex asks.
    pub requested_schema: Value,
    /// The call that the question is about.
    #[serde(rename = "_meta")]
    pub call: McpToolCall,
    /// All else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The call of a tool, as the question tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct McpToolCall {
    /// The kind of question.
    pub codex_approval_kind: McpToolApprovalKind,
    /// The tool, as the server names it.
    pub tool_name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_params: Option<Value>,
    /// The server's description of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_description: Option<String>,
    /// The scopes for which an approval may be kept: a word or several of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<Value>,
    /// All else.
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

/// A call of a tool that was reported as started.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StartedMcpCall {
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default)]
    pub arguments: Value,
}

/// An answer to a question about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpToolDecision {
    /// Yes, with the scope for which the approval is kept.
    Accept(Option<PersistScope>),
    /// No.
    Decline,
    /// The question is taken away, and the call with it.
    Cancel,
}

/// The scope for which an approval of a tool is kept, whatever the tool's arguments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersistScope {
    /// As long as the conversation lasts.
    Session,
    /// Permanently, with a line in the configuration.
    Always,
}

/// Returns whether the question of a server is marked as an approval of a tool.
pub(super) fn is_tool_approval(params: &Value) -> bool {
    params.get("_meta").is_some_and(|meta| meta.get("codex_approval_kind").is_some())
}

impl McpToolApproval {
    /// Returns whether Codex itself could have asked this about a started call.
    #[must_use]
    pub fn matches_call(&self, begun: &StartedMcpCall) -> bool {
        let told = self.call.tool_params.as_ref().unwrap_or(&Value::Null);
        let nothing = json!({ "type": "object", "properties": {} });
        self.server_name == begun.server
            && self.call.tool_name == begun.tool
            && *told == begun.arguments
            && self.requested_schema == nothing
    }

    /// Returns whether the question is the one that Codex asks about every tool.
    #[must_use]
    pub fn is_standard_message(&self) -> bool {
        let (server, tool) = (&self.server_name, &self.call.tool_name);
        self.message == format!("Allow the {server} MCP server to run tool \"{tool}\"?")
    }

    /// Returns whether an approval may be kept for this scope.
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
