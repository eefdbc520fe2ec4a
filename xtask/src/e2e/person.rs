//! The person in front of the client: the client asks its questions over its standard streams.

use std::{
    io::{self, BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};

/// The time limit of a session with many calls.
const LIMIT: Duration = Duration::from_secs(900);

/// Runs the client, and answers its questions by `decide`. Returns the questions in their order.
pub(crate) fn answer_questions(
    mut client: Command,
    decide: &dyn Fn(&Value) -> Value,
) -> Result<Vec<Value>, String> {
    let unknown = |error: io::Error| format!("cannot talk to the client: {error}");
    client.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = client.spawn().map_err(unknown)?;
    let asked = converse(&mut child, decide);
    // A client that waits for its input or that hangs is ended.
    drop(child.kill());
    child.wait().map_err(unknown)?;
    asked
}

fn converse(child: &mut Child, decide: &dyn Fn(&Value) -> Value) -> Result<Vec<Value>, String> {
    let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err("the client has no standard streams".to_owned());
    };
    let (sender, messages) = mpsc::channel();
    thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        let parsed = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        // If the receiver is gone, the session is over.
        parsed.map(|message| sender.send(message)).take_while(Result::is_ok).for_each(drop);
    });
    let hello = json!({ "type": "control_request", "request_id": "first",
                        "request": { "subtype": "initialize" } });
    let message = json!({ "role": "user", "content": "go on" });
    let prompt = json!({ "type": "user", "message": message, "parent_tool_use_id": null,
                         "session_id": "" });
    send(&mut input, &hello)?;
    send(&mut input, &prompt)?;
    let mut asked = Vec::new();
    while let Ok(message) = messages.recv_timeout(LIMIT) {
        match text(&message, "type") {
            "control_request" => answer(&mut input, &message, decide, &mut asked)?,
            "result" => return Ok(asked),
            _ => {}
        }
    }
    Err("the client ended without a result".to_owned())
}

fn answer(
    input: &mut ChildStdin,
    message: &Value,
    decide: &dyn Fn(&Value) -> Value,
    asked: &mut Vec<Value>,
) -> Result<(), String> {
    let request = message.get("request").cloned().unwrap_or_default();
    let response = if text(&request, "subtype") == "can_use_tool" {
        let response = decide(&request);
        asked.push(request);
        response
    } else {
        json!({})
    };
    let response = json!({ "subtype": "success", "request_id": message.get("request_id"),
                           "response": response });
    send(input, &json!({ "type": "control_response", "response": response }))
}

fn send(input: &mut ChildStdin, message: &Value) -> Result<(), String> {
    let sent = writeln!(input, "{message}").and_then(|()| input.flush());
    sent.map_err(|error| format!("the client does not read: {error}"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
