//! A scripted model: the Responses API on the loopback device. The prompt lists the calls that it
//! makes, one per request.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    net::TcpStream,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};

use crate::http::{self, Request, Server};

/// The prefix of each call in a prompt.
const CALL: &str = "CALL ";

/// The outputs that the model read, by the ids of its calls.
type Outputs = Arc<Mutex<HashMap<String, String>>>;

/// The names of the tools that the client offered.
type Tools = Arc<Mutex<BTreeSet<String>>>;

/// The running model; it stops when it is dropped.
#[derive(Debug)]
pub(super) struct Model {
    server: Server,
    outputs: Outputs,
    tools: Tools,
}

impl Model {
    pub(super) fn start() -> io::Result<Self> {
        let (outputs, tools) = (Outputs::default(), Tools::default());
        let shared = (Arc::clone(&outputs), Arc::clone(&tools));
        let server = Server::start(move |request, stream| serve(request, stream, &shared))?;
        Ok(Self { server, outputs, tools })
    }

    /// Returns the base URL for the client.
    pub(super) fn url(&self) -> String {
        format!("http://{}/v1", self.server.address())
    }

    /// Returns the names of the tools that the client offered so far. A tool without a name has
    /// that of its type.
    pub(super) fn offered_tools(&self) -> BTreeSet<String> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns and removes the outcome of the call `id`, if the model read one.
    pub(super) fn take(&self, id: &str) -> Option<String> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner).remove(id)
    }
}

/// Returns the line of a prompt that has the model call `exec_command` with `arguments`.
pub(super) fn line(id: &str, arguments: &Value) -> String {
    format!("{CALL}{}\n", json!({ "id": id, "arguments": arguments }))
}

fn serve(
    request: &Request,
    stream: &mut TcpStream,
    (outputs, tools): &(Outputs, Tools),
) -> io::Result<()> {
    if request.method != "POST" || !request.path.ends_with("/responses") {
        return http::write_json(stream, &json!({ "models": [], "data": [], "object": "list" }));
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let offered = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    let names = offered.filter_map(|tool| tool.get("name").or_else(|| tool.get("type"))?.as_str());
    tools.lock().unwrap_or_else(PoisonError::into_inner).extend(names.map(str::to_owned));
    let input = body.get("input").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let read = input.iter().filter_map(output);
    outputs.lock().unwrap_or_else(PoisonError::into_inner).extend(read);
    http::write_events(stream, &events(&next(input)))
}

/// Returns the outcome of a call, with its id.
fn output(item: &Value) -> Option<(String, String)> {
    is(item, "type", "function_call_output").then_some(())?;
    let text = match item.get("output")? {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    Some((item.get("call_id")?.as_str()?.to_owned(), text))
}

/// Returns the next item of the model: the first call of the last prompt that has no outcome yet,
/// or the end of the turn.
fn next(input: &[Value]) -> Value {
    let calls = input.iter().rev().map(calls).find(|calls| !calls.is_empty()).unwrap_or_default();
    let done = |id: &Value| input.iter().any(|item| output(item).is_some_and(|(of, _)| id == &of));
    let waits = calls.iter().find_map(|call| {
        let (id, arguments) = (call.get("id")?, call.get("arguments")?.to_string());
        let (kind, name) = ("function_call", "exec_command");
        (!done(id))
            .then(|| json!({ "type": kind, "call_id": id, "name": name, "arguments": arguments }))
    });
    let text = json!({ "type": "output_text", "text": "done" });
    let end = json!({ "type": "message", "role": "assistant", "id": "end", "content": [text] });
    waits.unwrap_or(end)
}

/// Returns the calls that a message of the user scripts.
fn calls(item: &Value) -> Vec<Value> {
    if !is(item, "role", "user") {
        return Vec::new();
    }
    let parts = item.get("content").and_then(Value::as_array).into_iter().flatten();
    let lines = parts.filter_map(|part| part.get("text")?.as_str()).flat_map(str::lines);
    let calls = lines.filter_map(|line| serde_json::from_str(line.strip_prefix(CALL)?).ok());
    calls.collect()
}

/// Returns the events that stream `item` as a whole answer.
fn events(item: &Value) -> [(&'static str, Value); 3] {
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": null,
        "output_tokens": 1, "output_tokens_details": null, "total_tokens": 2,
    });
    let event =
        |name: &'static str, key: &str, value: Value| (name, json!({ "type": name, key: value }));
    [
        event("response.created", "response", json!({ "id": "answer" })),
        event("response.output_item.done", "item", item.clone()),
        event("response.completed", "response", json!({ "id": "answer", "usage": usage })),
    ]
}

fn is(value: &Value, key: &str, wanted: &str) -> bool {
    value.get(key).and_then(Value::as_str) == Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prompt() -> Value {
        let text = ["a", "b"].map(|id| line(id, &json!({ "cmd": format!("uu {id}\n#") }))).concat();
        json!({ "role": "user", "content": [{ "type": "input_text", "text": text }] })
    }

    #[test]
    fn the_calls_of_a_prompt_are_made_one_by_one() {
        let outcome = |id| json!({ "type": "function_call_output", "call_id": id, "output": "x" });
        let first = next(&[prompt()]);
        assert_eq!(
            (&first["call_id"], &first["arguments"]),
            (&json!("a"), &json!(r##"{"cmd":"uu a\n#"}"##))
        );
        assert_eq!(next(&[prompt(), outcome("a")])["call_id"], "b");
        assert_eq!(next(&[prompt(), outcome("a"), outcome("b")])["type"], "message");
    }

    #[test]
    fn only_messages_of_the_user_make_calls() {
        let mut other = prompt();
        other["role"] = json!("developer");
        assert_eq!(next(&[other])["type"], "message");
    }
}
