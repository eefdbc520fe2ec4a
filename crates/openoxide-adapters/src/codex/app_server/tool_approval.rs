//! A call of a tool of an MCP server that waits for a yes. It comes as a question of that server, and any server can write such a
//! question itself: 0.169 hands on its `_meta` as it is. Only the call that was said to begin tells the two apart.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::RequestId;

/// The method of all questions of MCP servers.
pub(super) const ELICITATION_METHOD: &str = "mcpServer/elicitation/request";

/// A call of a tool waits for a yes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolApproval {
    /// The conversation.
    pub thread_id: String,
    /// What the person last asked for, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_id: Option<String>,
    /// The server, as the configuration names it.
    pub server_name: String,
    /// The question, in Codex's words.
    pub message: String,
    /// What the answer has to contain: nothing, where Codex asks.
    pub requested_schema: Value,
    /// What it is about.
    #[serde(rename = "_meta")]
    pub call: ToolCall,
    /// All else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The call of a tool, as the question tells it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// What kind of question it is.
    pub codex_approval_kind: ToolApprovalKind,
    /// The tool, as the server names it.
    pub tool_name: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_params: Option<Value>,
    /// What the server says of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_description: Option<String>,
    /// For how long a yes may be kept: a word or several of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<Value>,
    /// All else.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// The kinds of questions that are approvals of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolApprovalKind {
    /// A call of an MCP server's tool.
    McpToolCall,
}

/// A call of a tool that was said to begin.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct StartedCall {
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
pub enum ToolDecision {
    /// Yes, and for how long.
    Accept(Option<PersistScope>),
    /// No.
    Decline,
    /// The question is taken away, and the call with it.
    Cancel,
}

/// For how long a yes to a tool is kept, whatever its arguments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PersistScope {
    /// As long as the conversation lasts.
    Session,
    /// For good: a line in the configuration.
    Always,
}

/// Says whether a question of a server tells of itself that it is about a tool.
pub(super) fn is_tool_approval(params: &Value) -> bool {
    params.get("_meta").is_some_and(|meta| meta.get("codex_approval_kind").is_some())
}

impl ToolApproval {
    /// Says whether Codex itself could have asked this about a call that was said to begin.
    #[must_use]
    pub fn matches_call(&self, begun: &StartedCall) -> bool {
        let told = self.call.tool_params.as_ref().unwrap_or(&Value::Null);
        let nothing = json!({ "type": "object", "properties": {} });
        self.server_name == begun.server
            && self.call.tool_name == begun.tool
            && *told == begun.arguments
            && self.requested_schema == nothing
    }

    /// Says whether the question is the one that Codex asks about any tool.
    #[must_use]
    pub fn is_standard_message(&self) -> bool {
        let (server, tool) = (&self.server_name, &self.call.tool_name);
        self.message == format!("Allow the {server} MCP server to run tool \"{tool}\"?")
    }

    /// Says whether a yes may be kept so long.
    #[must_use]
    pub fn may_persist(&self, long: PersistScope) -> bool {
        let word = json!(long);
        self.call.persist.as_ref().is_some_and(|offered| match offered {
            Value::Array(offered) => offered.contains(&word),
            offered => *offered == word,
        })
    }
}

impl ToolDecision {
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
