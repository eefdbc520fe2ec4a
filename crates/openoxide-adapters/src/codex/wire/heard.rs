//! What the app server says, as far as a client has to know that answers requests for approvals.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{BegunCall, Request, RequestId, request};

/// A message of the server.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// It asks for an approval.
    Asked(Box<Request>),
    /// It asks for something that no approval is, or that was not understood: its method.
    Other(String),
    /// A request was answered, by whomever.
    Resolved(RequestId),
    /// A conversation is about to change files.
    Changes(Item, Vec<Change>),
    /// A conversation is about to call a tool of an MCP server.
    Call(Item, BegunCall),
    /// A call has ended.
    Ended(Item),
    /// Something happened in this conversation.
    Thread(String),
    /// It answers a call of ours: what came of it, or its error.
    Answered(i64, Result<Value, String>),
    /// Anything else.
    Nothing,
}

/// A call within a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// The conversation.
    pub thread: String,
    /// The call.
    pub item: String,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The file.
    pub path: String,
    /// What becomes of it.
    pub kind: ChangeKind,
    /// The difference; of a file that comes or goes, its content.
    pub diff: String,
}

/// What becomes of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ChangeKind {
    /// It comes.
    Add,
    /// It goes.
    Delete,
    /// It has another content, and perhaps another name.
    Update {
        /// The other name.
        #[serde(default)]
        move_path: Option<String>,
    },
}

/// Reads a message.
#[must_use]
pub fn heard(message: Value) -> Heard {
    let id = message.get("id");
    match (message.get("method").and_then(Value::as_str), id) {
        (Some(method), Some(_)) => match request(&message) {
            Ok(Some(request)) => Heard::Asked(Box::new(request)),
            Ok(None) | Err(_) => Heard::Other(method.to_owned()),
        },
        (Some(method), None) => told(method, message.get("params").unwrap_or(&Value::Null)),
        (None, _) => answered(message).unwrap_or(Heard::Nothing),
    }
}

/// Reads what is told without a question.
fn told(method: &str, params: &Value) -> Heard {
    let text = |name: &str| params.get(name).and_then(Value::as_str).map(str::to_owned);
    let thread = || params.get("thread")?.get("id")?.as_str().map(str::to_owned);
    match method {
        "serverRequest/resolved" => {
            let id = params.get("requestId").and_then(|id| RequestId::deserialize(id).ok());
            id.map_or(Heard::Nothing, Heard::Resolved)
        }
        "item/started" | "item/fileChange/patchUpdated" => {
            changes(params).or_else(|| call(params)).unwrap_or(Heard::Nothing)
        }
        "item/completed" => item(params).map_or(Heard::Nothing, Heard::Ended),
        "thread/started" => thread().map_or(Heard::Nothing, Heard::Thread),
        "thread/status/changed" => text("threadId").map_or(Heard::Nothing, Heard::Thread),
        _ => Heard::Nothing,
    }
}

/// Reads the name of an item.
fn item(params: &Value) -> Option<Item> {
    let item = params.get("item");
    let name = item.map_or_else(|| params.get("itemId"), |item| item.get("id"));
    let thread = params.get("threadId")?.as_str()?.to_owned();
    Some(Item { thread, item: name?.as_str()?.to_owned() })
}

/// Reads the changes of an item that begins, or of one that is still being written.
fn changes(params: &Value) -> Option<Heard> {
    let changes = params.get("item").unwrap_or(params).get("changes")?;
    // What is not understood of them is not shown, and so nobody can say yes to it.
    let changes = Vec::deserialize(changes).unwrap_or_default();
    Some(Heard::Changes(item(params)?, changes))
}

/// Reads the call of a tool that begins.
fn call(params: &Value) -> Option<Heard> {
    let told = params.get("item")?;
    let begins = told.get("type")?.as_str()? == "mcpToolCall";
    let call = begins.then(|| BegunCall::deserialize(told).ok()).flatten()?;
    Some(Heard::Call(item(params)?, call))
}

fn answered(mut message: Value) -> Option<Heard> {
    let id = message.get("id")?.as_i64()?;
    if let Some(error) = message.get("error") {
        let error = error.get("message").and_then(Value::as_str).unwrap_or("no reason is given");
        return Some(Heard::Answered(id, Err(error.to_owned())));
    }
    let result = message.get_mut("result").map(Value::take)?;
    Some(Heard::Answered(id, Ok(result)))
}
