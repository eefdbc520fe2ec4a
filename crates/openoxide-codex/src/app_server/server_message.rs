//! The messages of the app server that matter to a client that answers approval requests.

use serde::Deserialize as _;
use serde_json::Value;
use thiserror::Error;

use super::{
    approval_request::{ServerRequest, parse_request},
    mcp_tool_approval::StartedMcpCall,
    request_origin::RequestId,
};
use crate::file_change::FileUpdateChange;

/// A message of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum ServerMessage {
    /// A request for an approval.
    ApprovalRequest(Box<ServerRequest>),
    /// The method of another request, or of an approval request that could not be parsed.
    UnsupportedRequest(String),
    /// A request was answered by any client.
    RequestResolved(RequestId),
    /// A conversation is about to change files.
    FileChangeStarted(ItemId, Vec<FileUpdateChange>),
    /// A conversation is about to call a tool of an MCP server.
    ToolCallStarted(ItemId, StartedMcpCall),
    /// A call has ended.
    ItemCompleted(ItemId),
    /// Something happened in this conversation.
    ThreadEvent(String),
    /// The response to a call of this client: its result or its error.
    CallResponse(i64, Result<Value, ServerCallError>),
    /// Anything else.
    Ignored,
}

/// The message of a server that refuses a call of this client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ServerCallError(pub String);

/// The id of a call within a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ItemId {
    /// The id of the conversation.
    pub thread: String,
    /// The id of the call.
    pub item: String,
}

/// Parses a message.
#[must_use]
pub fn parse_server_message(message: Value) -> ServerMessage {
    let id = message.get("id");
    match (message.get("method").and_then(Value::as_str), id) {
        (Some(method), Some(_)) => match parse_request(&message) {
            Ok(Some(request)) => ServerMessage::ApprovalRequest(Box::new(request)),
            Ok(None) | Err(_) => ServerMessage::UnsupportedRequest(method.to_owned()),
        },
        (Some(method), None) => {
            parse_notification(method, message.get("params").unwrap_or(&Value::Null))
        }
        (None, _) => parse_call_response(message).unwrap_or(ServerMessage::Ignored),
    }
}

/// Parses a notification.
fn parse_notification(method: &str, params: &Value) -> ServerMessage {
    let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
    let thread = || params.get("thread")?.get("id")?.as_str().map(str::to_owned);
    match method {
        "serverRequest/resolved" => {
            let id = params.get("requestId").and_then(|id| RequestId::deserialize(id).ok());
            id.map_or(ServerMessage::Ignored, ServerMessage::RequestResolved)
        }
        "item/started" | "item/fileChange/patchUpdated" => parse_file_changes(params)
            .or_else(|| parse_tool_call(params))
            .unwrap_or(ServerMessage::Ignored),
        "item/completed" => {
            parse_item_id(params).map_or(ServerMessage::Ignored, ServerMessage::ItemCompleted)
        }
        "thread/started" => thread().map_or(ServerMessage::Ignored, ServerMessage::ThreadEvent),
        "thread/status/changed" => {
            text("threadId").map_or(ServerMessage::Ignored, ServerMessage::ThreadEvent)
        }
        _ => ServerMessage::Ignored,
    }
}

/// Parses the id of an item.
fn parse_item_id(params: &Value) -> Option<ItemId> {
    let item = params.get("item");
    let name = item.map_or_else(|| params.get("itemId"), |item| item.get("id"));
    let thread = params.get("threadId")?.as_str()?.to_owned();
    Some(ItemId { thread, item: name?.as_str()?.to_owned() })
}

/// Parses the changes of an item that starts, or of one that is still being written.
fn parse_file_changes(params: &Value) -> Option<ServerMessage> {
    let changes = params.get("item").unwrap_or(params).get("changes")?;
    // Changes that cannot be parsed are not shown, so they cannot be approved.
    let changes = Vec::deserialize(changes).unwrap_or_default();
    Some(ServerMessage::FileChangeStarted(parse_item_id(params)?, changes))
}

/// Parses the call of a tool that starts.
fn parse_tool_call(params: &Value) -> Option<ServerMessage> {
    let told = params.get("item")?;
    let begins = told.get("type")?.as_str()? == "mcpToolCall";
    let call = begins.then(|| StartedMcpCall::deserialize(told).ok()).flatten()?;
    Some(ServerMessage::ToolCallStarted(parse_item_id(params)?, call))
}

fn parse_call_response(mut message: Value) -> Option<ServerMessage> {
    let id = message.get("id")?.as_i64()?;
    if let Some(error) = message.get("error") {
        let error = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
        return Some(ServerMessage::CallResponse(id, Err(ServerCallError(error.to_owned()))));
    }
    let result = message.get_mut("result").map(Value::take)?;
    Some(ServerMessage::CallResponse(id, Ok(result)))
}
