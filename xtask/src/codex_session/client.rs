//! A client of `codex app-server`. Messages are JSON objects, one per line.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// The requests that are answered.
const COMMAND: &str = "item/commandExecution/requestApproval";
const FILES: &str = "item/fileChange/requestApproval";

/// The time limit for a message of the server.
const SILENCE: Duration = Duration::from_secs(60);

/// The running server. It is killed when this is dropped.
#[derive(Debug)]
pub(super) struct Client {
    child: Child,
    stdin: ChildStdin,
    messages: Receiver<Value>,
    calls: u64,
}

impl Client {
    /// Starts `command`, and initializes the session.
    pub(super) fn start(mut command: Command) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let stdin = child.stdin.take().ok_or("no way to the server")?;
        let stdout = child.stdout.take().ok_or("no way from the server")?;
        let (send, messages) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(stdout).lines().map_while(Result::ok);
            let mut read = lines.filter_map(|line| serde_json::from_str(&line).ok());
            read.try_for_each(|message: Value| send.send(message))
        });
        let mut client = Self { child, stdin, messages, calls: 0 };
        client.greet()?;
        Ok(client)
    }

    fn greet(&mut self) -> Result<(), String> {
        let who = json!({ "name": "xtask", "title": "xtask", "version": "0" });
        let can = json!({ "experimentalApi": true });
        self.call("initialize", &json!({ "clientInfo": who, "capabilities": can }))?;
        self.send(&json!({ "method": "initialized" }))
    }

    /// Starts a thread, which reads the rule files, and returns its id.
    pub(super) fn thread(&mut self, settings: &Value) -> Result<String, String> {
        let started = self.call("thread/start", settings)?;
        let id = started.pointer("/thread/id").and_then(Value::as_str);
        id.map(str::to_owned).ok_or_else(|| format!("no thread: {started}"))
    }

    /// Runs a turn with this prompt, and returns the server's requests during the turn. `decide`
    /// returns the answer to each of them.
    pub(super) fn turn(
        &mut self,
        thread: &str,
        text: &str,
        mut decide: impl FnMut(&Value) -> Value,
    ) -> Result<Vec<Value>, String> {
        let input = json!([{ "type": "text", "text": text }]);
        self.call("turn/start", &json!({ "threadId": thread, "input": input }))?;
        let mut asked = Vec::new();
        loop {
            let message = self.next()?;
            let params = message.get("params").unwrap_or(&Value::Null);
            match (message.get("id"), method(&message)) {
                (_, "turn/completed") => return ended(params).map(|()| asked),
                (Some(id), method @ (COMMAND | FILES)) => {
                    let result = json!({ "decision": decide(params) });
                    self.send(&json!({ "id": id, "result": result }))?;
                    asked.push(about(params, method));
                }
                (Some(_), _) => return Err(format!("an unexpected request: {message}")),
                (None, _) => {}
            }
        }
    }

    /// Returns the answer to a call. Messages before it are ignored.
    pub(super) fn call(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.calls += 1;
        let id = self.calls;
        self.send(&json!({ "id": id, "method": method, "params": params }))?;
        loop {
            let message = self.next()?;
            if message.get("id") == Some(&json!(id)) && message.get("method").is_none() {
                let result = message.get("result").cloned();
                return result.ok_or_else(|| format!("{method}: {message}"));
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        writeln!(self.stdin, "{message}").map_err(|error| format!("the server is gone: {error}"))
    }

    /// Returns the next message. A rule file that Codex rejects is an error, because it would make
    /// every answer meaningless.
    fn next(&self) -> Result<Value, String> {
        let message = self.messages.recv_timeout(SILENCE);
        let message = message.map_err(|error| format!("no word of the server: {error}"))?;
        match method(&message) {
            "configWarning" => Err(format!("the rules were not taken: {message}")),
            _ => Ok(message),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// Returns the parameters of a request, and whether it is about files.
fn about(params: &Value, method: &str) -> Value {
    let mut asked = params.as_object().cloned().unwrap_or_default();
    asked.insert("isAboutFiles".to_owned(), json!(method == FILES));
    asked.into()
}

fn method(message: &Value) -> &str {
    message.get("method").and_then(Value::as_str).unwrap_or_default()
}

fn ended(params: &Value) -> Result<(), String> {
    match params.pointer("/turn/status").and_then(Value::as_str) {
        Some("completed") => Ok(()),
        _ => Err(format!("the turn did not end well: {params}")),
    }
}
