//! The next message of the model and the results that it was given, derived from the conversation
//! alone.

use serde_json::{Value, json};

use super::{Call, DELEGATED, Script, ToolResult};

/// Returns the next message of a model that plays `script` in the conversation of `request`.
///
/// A request without tools is a side question of the client, such as for a title.
pub(crate) fn message(script: &Script, request: &Value) -> Value {
    let offered = !array(request, "tools").is_empty();
    let (calls, number) = part(script, request);
    let turn = turns_with_calls(request);
    match calls.get(turn).filter(|_| offered) {
        Some(call) => {
            envelope(request, &[text("on it"), tool_use(call, number + turn)], "tool_use")
        }
        None => envelope(request, &[text("done")], "end_turn"),
    }
}

/// Returns the events that stream `message`.
pub(crate) fn events(message: &Value) -> Vec<(&'static str, Value)> {
    let empty = with(message.clone(), "content", json!([]));
    let start = with(empty, "stop_reason", Value::Null);
    let mut events = vec![("message_start", json!({ "message": start }))];
    for (index, block) in array(message, "content").iter().enumerate() {
        events.extend(block_events(index, block));
    }
    let delta = json!({ "stop_reason": message.get("stop_reason"), "stop_sequence": null });
    events.push(("message_delta", json!({ "delta": delta, "usage": message.get("usage") })));
    events.push(("message_stop", json!({})));
    events.into_iter().map(|(name, data)| (name, with(data, "type", json!(name)))).collect()
}

/// Returns the result of call number `step` in `request`, if it is there.
pub(crate) fn tool_result(request: &Value, step: usize) -> Option<ToolResult> {
    let wanted = id(step);
    let blocks = array(request, "messages").iter().flat_map(|turn| array(turn, "content"));
    let mut results = blocks.filter(|block| is(block, "type", "tool_result"));
    let block = results.find(|block| is(block, "tool_use_id", &wanted))?;
    let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
    Some(ToolResult { text: content_text(block), is_error })
}

/// Returns the calls for the conversation of `request`, and the number of the first one.
fn part<'a>(script: &'a Script, request: &Value) -> (&'a [Call], usize) {
    let opening = array(request, "messages").first().map(content_text).unwrap_or_default();
    if opening.contains(DELEGATED) {
        (&script.delegated, script.calls.len())
    } else {
        (&script.calls, 0)
    }
}

fn id(step: usize) -> String {
    format!("toolu_{step}")
}

fn text(words: &str) -> Value {
    json!({ "type": "text", "text": words })
}

fn tool_use(call: &Call, step: usize) -> Value {
    json!({ "type": "tool_use", "id": id(step), "name": call.tool, "input": call.input })
}

fn envelope(request: &Value, content: &[Value], stop_reason: &str) -> Value {
    json!({
        "id": format!("msg_{}", array(request, "messages").len()),
        "type": "message",
        "role": "assistant",
        "model": request.get("model").cloned().unwrap_or_else(|| json!("scripted")),
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": { "input_tokens": 10, "output_tokens": 5 },
    })
}

fn block_events(index: usize, block: &Value) -> [(&'static str, Value); 3] {
    let (empty, delta) = if is(block, "type", "tool_use") {
        let empty = with(block.clone(), "input", json!({}));
        let spelled = block.get("input").map(Value::to_string);
        (empty, json!({ "type": "input_json_delta", "partial_json": spelled }))
    } else {
        (text(""), json!({ "type": "text_delta", "text": block.get("text") }))
    };
    [
        ("content_block_start", json!({ "index": index, "content_block": empty })),
        ("content_block_delta", json!({ "index": index, "delta": delta })),
        ("content_block_stop", json!({ "index": index })),
    ]
}

fn turns_with_calls(request: &Value) -> usize {
    let calls = |turn: &&Value| array(turn, "content").iter().any(|b| is(b, "type", "tool_use"));
    array(request, "messages").iter().filter(calls).count()
}

fn content_text(block: &Value) -> String {
    let content = block.get("content").and_then(Value::as_str);
    let parts = array(block, "content").iter().filter_map(|part| part.get("text")?.as_str());
    content.map_or_else(|| parts.collect::<Vec<_>>().join("\n"), str::to_owned)
}

/// Returns the object `value` with `new` at `key`.
fn with(mut value: Value, key: &str, new: Value) -> Value {
    if let Some(object) = value.as_object_mut() {
        object.insert(key.to_owned(), new);
    }
    value
}

fn array<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is(value: &Value, key: &str, wanted: &str) -> bool {
    value.get(key).and_then(Value::as_str) == Some(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> Script {
        let [a, b, c] = ["touch a", "touch b", "touch c"]
            .map(|command| Call { tool: "Bash".into(), input: json!({ "command": command }) });
        Script { calls: vec![a, b], delegated: vec![c] }
    }

    fn after(turns: usize) -> Value {
        let call = json!({ "role": "assistant", "content": [{ "type": "tool_use" }] });
        json!({ "tools": [{ "name": "Bash" }], "messages": vec![call; turns] })
    }

    #[test]
    fn the_conversation_tells_which_call_comes_next() {
        assert_eq!(message(&script(), &after(0))["content"][1]["input"]["command"], "touch a");
        assert_eq!(message(&script(), &after(1))["content"][1]["id"], "toolu_1");
        assert_eq!(message(&script(), &after(2))["stop_reason"], "end_turn");
    }

    #[test]
    fn a_subagent_plays_its_own_part_and_its_calls_are_numbered_on() {
        let opening = json!([{ "type": "text", "text": format!("now: {DELEGATED}") }]);
        let messages = json!([{ "role": "user", "content": opening }]);
        let said = message(&script(), &json!({ "tools": [{}], "messages": messages }));
        assert_eq!(said["content"][1]["input"]["command"], "touch c");
        assert_eq!(said["content"][1]["id"], "toolu_2");
    }

    #[test]
    fn a_side_question_without_tools_makes_no_call() {
        assert_eq!(message(&script(), &json!({ "messages": [] }))["stop_reason"], "end_turn");
    }

    #[test]
    fn a_streamed_message_has_its_events_in_order() {
        let events = events(&message(&script(), &after(0)));
        let names: Vec<_> = events.iter().map(|(name, _)| *name).collect();
        let block = ["content_block_start", "content_block_delta", "content_block_stop"];
        let expected = [&["message_start"][..], &block, &block, &["message_delta", "message_stop"]];
        assert_eq!(names, expected.concat());
        assert!(events.iter().all(|(name, data)| data["type"] == *name));
    }

    #[test]
    fn a_result_is_read_as_text_and_as_parts() {
        let result = |content: Value| {
            let block = json!({ "type": "tool_result", "tool_use_id": "toolu_0", "is_error": true,
                                "content": content });
            tool_result(&json!({ "messages": [{ "content": [block] }] }), 0).unwrap()
        };
        let expected = ToolResult { text: "why".to_owned(), is_error: true };
        assert_eq!(result(json!("why")), expected);
        assert_eq!(result(json!([{ "type": "text", "text": "why" }])), expected);
    }
}
