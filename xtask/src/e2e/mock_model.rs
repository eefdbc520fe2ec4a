//! A scripted model: the Anthropic Messages API on the loopback device, which stores the requests
//! that it received.

mod reply;

use std::{
    borrow::Cow,
    io,
    net::TcpStream,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};

use crate::http::{self, Request, Server};

/// The text in the prompt of a subagent that makes its calls of the script.
pub(crate) const DELEGATED: &str = "Play the part of the subagent.";

/// The calls that the model will make, one per turn. Then it reports that it is done.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    /// The calls in the conversation with the user.
    pub(crate) calls: Vec<Call>,
    /// The calls in the conversation of a subagent; their numbers follow those of `calls`.
    pub(crate) delegated: Vec<Call>,
}

impl From<Vec<Call>> for Script {
    fn from(calls: Vec<Call>) -> Self {
        Self { calls, delegated: Vec::new() }
    }
}

/// One tool call that the model will ask for.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// The tool's name, as the client calls it.
    pub(crate) tool: Cow<'static, str>,
    /// The tool's input.
    pub(crate) input: Value,
}

/// The outcome of one of the model's calls, as the model read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ToolResult {
    /// The text of it.
    pub(crate) text: String,
    /// True if the client marked it as an error.
    pub(crate) is_error: bool,
}

/// The running model. It stops when it is dropped.
#[derive(Debug)]
pub(crate) struct MockModel {
    server: Server,
    state: Arc<State>,
}

#[derive(Debug)]
struct State {
    script: Script,
    requests: Mutex<Vec<Value>>,
}

impl MockModel {
    /// Starts a model that plays `script`.
    pub(crate) fn start(script: Script) -> io::Result<Self> {
        let state = Arc::new(State { script, requests: Mutex::default() });
        let shared = Arc::clone(&state);
        let server = Server::start(move |request, stream| serve(request, stream, &shared))?;
        Ok(Self { server, state })
    }

    /// Returns the URL for the client.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Returns the outcome of call number `step`, if the model read one.
    pub(crate) fn tool_result(&self, step: usize) -> Option<ToolResult> {
        let requests = self.state.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.iter().rev().find_map(|request| reply::tool_result(request, step))
    }
}

fn serve(request: &Request, stream: &mut TcpStream, state: &State) -> io::Result<()> {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    if request.path.contains("count_tokens") {
        return http::write_json(stream, &json!({ "input_tokens": 10 }));
    }
    if request.method != "POST" || !request.path.starts_with("/v1/messages") {
        return http::write_json(stream, &json!({ "data": [], "has_more": false }));
    }
    let message = reply::message(&state.script, &body);
    let streamed = body.get("stream").and_then(Value::as_bool).unwrap_or(false);
    state.requests.lock().unwrap_or_else(PoisonError::into_inner).push(body);
    if streamed {
        http::write_events(stream, &reply::events(&message))
    } else {
        http::write_json(stream, &message)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};

    use super::*;

    fn touch() -> Call {
        Call { tool: "Bash".into(), input: json!({ "command": "touch x" }) }
    }

    fn post(model: &MockModel, path: &str, body: &Value) -> String {
        let body = body.to_string();
        let mut stream = TcpStream::connect(model.server.address()).unwrap();
        let head = format!("POST {path} HTTP/1.1\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    #[test]
    fn a_streamed_answer_spells_out_the_scripted_call() {
        let model = MockModel::start(vec![touch()].into()).unwrap();
        let body = json!({ "stream": true, "tools": [{ "name": "Bash" }], "messages": [] });
        let answer = post(&model, "/v1/messages?beta=true", &body);
        assert!(answer.contains("content-type: text/event-stream"), "{answer}");
        assert!(answer.contains("event: message_start\n"), "{answer}");
        assert!(answer.contains(r#"{\"command\":\"touch x\"}"#), "{answer}");
        assert!(answer.ends_with("\n\n"), "{answer}");
    }

    #[test]
    fn an_answer_in_one_piece_is_json() {
        let model = MockModel::start(vec![touch()].into()).unwrap();
        let answer = post(&model, "/v1/messages", &json!({ "tools": [{}], "messages": [] }));
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let message: Value = serde_json::from_str(body).unwrap();
        assert_eq!(message["stop_reason"], "tool_use");
    }

    #[test]
    fn tool_results_that_the_model_read_are_stored() {
        let model = MockModel::start(vec![touch()].into()).unwrap();
        assert_eq!(model.tool_result(0), None);
        let result = json!({ "type": "tool_result", "tool_use_id": "toolu_0", "content": "no" });
        let messages = json!([{ "role": "user", "content": [result] }]);
        post(&model, "/v1/messages", &json!({ "tools": [{}], "messages": messages }));
        let read = ToolResult { text: "no".to_owned(), is_error: false };
        assert_eq!(model.tool_result(0), Some(read));
    }

    #[test]
    fn other_paths_are_answered_and_not_remembered() {
        let model = MockModel::start(Script::default()).unwrap();
        let answer = post(&model, "/v1/messages/count_tokens", &json!({}));
        assert!(answer.contains("input_tokens"), "{answer}");
        assert!(post(&model, "/api/event", &json!({})).starts_with("HTTP/1.1 200"));
        assert!(model.state.requests.lock().unwrap().is_empty());
    }
}
