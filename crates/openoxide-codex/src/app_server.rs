//! The approval requests of the Codex app server, and the answers that clients may give. Facts:
//! Codex 0.169, its own schema and recorded messages.
//!
//! The messages are JSON-RPC without `jsonrpc`, one per line. Unknown fields are kept, so that a
//! message can be written again as it was read. Every field that may be `null` may also be left
//! out.

mod approval_request;
mod command_approval;
pub(crate) mod decision_words;
mod mcp_tool_approval;
mod request_origin;
mod responses;
mod server_message;

pub use approval_request::{
    ApprovalParams, FileChangeApproval, PermissionsApproval, ServerRequest, parse_request,
};
pub(crate) use command_approval::PLAIN_DECISIONS;
pub use command_approval::{CommandApproval, CommandApprovalKind, NetworkApprovalContext};
pub use mcp_tool_approval::{
    McpToolApproval, McpToolApprovalKind, McpToolCall, McpToolDecision, PersistScope,
    StartedMcpCall,
};
pub use request_origin::{RequestId, RequestOrigin};
pub use responses::{PermissionsAnswer, PermissionsScope, render_response};
pub use server_message::{ItemId, ServerCallError, ServerMessage, parse_server_message};

#[cfg(test)]
mod tests;
