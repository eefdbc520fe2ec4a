//! Approval requests of all kinds.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    command_approval::CommandApproval,
    mcp_tool_approval::{self, McpToolApproval},
    request_origin::{RequestId, RequestOrigin},
};

/// A request for an approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerRequest {
    /// The id of the request. The answer repeats it.
    pub id: RequestId,
    /// The method and the parameters of the request.
    #[serde(flatten)]
    pub params: ApprovalParams,
}

/// The method and the parameters of an approval request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "method", content = "params")]
pub enum ApprovalParams {
    /// To run a command, to write to the input of a running command, or to reach a host.
    #[serde(rename = "item/commandExecution/requestApproval")]
    Command(Box<CommandApproval>),
    /// To change files. The changes are in the item that was reported as started before.
    #[serde(rename = "item/fileChange/requestApproval")]
    FileChange(Box<FileChangeApproval>),
    /// To get more permissions for a limited time.
    #[serde(rename = "item/permissions/requestApproval")]
    Permissions(Box<PermissionsApproval>),
    /// To call a tool of an MCP server.
    #[serde(rename = "mcpServer/elicitation/request")]
    Tool(Box<McpToolApproval>),
}

/// A request to approve changes of files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileChangeApproval {
    /// The origin of the request. The item that it names contains the changes.
    #[serde(flatten)]
    pub origin: RequestOrigin,
    /// The reason for the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The directory that an approval would make writable for the rest of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant_root: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// A request for more permissions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PermissionsApproval {
    /// The origin of the request.
    #[serde(flatten)]
    pub origin: RequestOrigin,
    /// The directory that paths are relative to.
    pub cwd: String,
    /// The requested permissions: `fileSystem` and `network`.
    pub permissions: Value,
    /// The reason for the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The machine on which the permissions apply; `local` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<String>,
    /// All other fields.
    #[serde(flatten)]
    pub rest: Map<String, Value>,
}

/// Parses a line if it is an approval request.
///
/// # Errors
/// Returns an error if the line is an approval request that cannot be parsed. Such a request must
/// not be treated as answered.
pub fn parse_request(line: &Value) -> Result<Option<ServerRequest>, serde_json::Error> {
    let method = line.get("method").and_then(Value::as_str).unwrap_or_default();
    let asks = match method {
        mcp_tool_approval::ELICITATION_METHOD => {
            line.get("params").is_some_and(mcp_tool_approval::is_tool_approval)
        }
        method => method.ends_with("/requestApproval"),
    };
    let asks = asks && line.get("id").is_some();
    asks.then(|| ServerRequest::deserialize(line)).transpose()
}

impl ApprovalParams {
    /// Returns the id of the conversation.
    #[must_use]
    pub fn thread_id(&self) -> &str {
        match self {
            Self::Tool(approval) => &approval.thread_id,
            Self::Command(approval) => &approval.origin.thread_id,
            Self::FileChange(approval) => &approval.origin.thread_id,
            Self::Permissions(approval) => &approval.origin.thread_id,
        }
    }

    /// Returns the id of the call, or the name of the tool if the request has no call id.
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
