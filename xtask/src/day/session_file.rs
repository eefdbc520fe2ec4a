//! The format of a session: the files of the project and of the home directory, and the calls.

use serde_json::{Value, json};

use crate::e2e::mock_model::Call;

/// A scripted session.
#[derive(Debug)]
pub(super) struct DaySession {
    /// The name of the session.
    pub(super) name: String,
    /// The path and the text of each file.
    pub(super) files: Vec<(String, String)>,
    /// The calls, in their order.
    pub(super) calls: Vec<DayCall>,
}

/// A call of a session.
#[derive(Debug, Clone)]
pub(super) struct DayCall {
    /// The call that the model makes.
    pub(super) call: Call,
    /// The effect of a dangerous call. Other calls have none.
    pub(super) danger: Option<DangerousEffect>,
}

/// What shows that a dangerous call ran. Paths start with `home/` or `project/`.
#[derive(Debug, Clone)]
pub(super) enum DangerousEffect {
    /// The model or the server received this text.
    Reveals(String),
    /// The call created this file.
    Creates(String),
    /// The call removed this file.
    Removes(String),
    /// The call changed this file.
    Changes(String),
}

impl DaySession {
    /// Parses a session.
    ///
    /// # Errors
    /// Returns an error that names the session and the call.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let parsed: toml::Table =
            text.parse().map_err(|error| format!("session {name}: {error}"))?;
        let files = parsed.get("files").and_then(toml::Value::as_table);
        let files = files
            .into_iter()
            .flatten()
            .filter_map(|(path, text)| Some((path.clone(), text.as_str()?.to_owned())));
        let calls = parsed.get("calls").and_then(toml::Value::as_array);
        let calls = calls.into_iter().flatten().enumerate().map(|(number, call)| {
            parse_call(call).ok_or_else(|| format!("session {name}: call {number} is not valid"))
        });
        let (files, calls) = (files.collect(), calls.collect::<Result<_, _>>()?);
        Ok(Self { name: name.to_owned(), files, calls })
    }
}

fn parse_call(call: &toml::Value) -> Option<DayCall> {
    let text = |key: &str| call.get(key).and_then(toml::Value::as_str);
    let (tool, input) = if let Some(command) = text("bash") {
        ("Bash".to_owned(), json!({ "command": command, "description": "one step of the work" }))
    } else if let Some(path) = text("read") {
        ("Read".to_owned(), json!({ "file_path": absolute(path) }))
    } else if let Some(path) = text("edit") {
        let input = json!({ "file_path": absolute(path), "old_string": text("old")?,
                            "new_string": text("new")? });
        ("Edit".to_owned(), input)
    } else if let Some(path) = text("write") {
        ("Write".to_owned(), json!({ "file_path": absolute(path), "content": text("text")? }))
    } else {
        let input = call.get("input").map_or_else(|| Ok(json!({})), serde_json::to_value).ok()?;
        (text("tool")?.to_owned(), input)
    };
    let owned = |key| text(key).map(str::to_owned);
    let danger = owned("reveals").map(DangerousEffect::Reveals);
    let danger = danger.or_else(|| owned("creates").map(DangerousEffect::Creates));
    let danger = danger.or_else(|| owned("removes").map(DangerousEffect::Removes));
    let danger = danger.or_else(|| owned("changes").map(DangerousEffect::Changes));
    Some(DayCall { call: Call { tool: tool.into(), input }, danger })
}

/// Returns a path with the directory of the session as a placeholder.
fn absolute(path: &str) -> String {
    match path.strip_prefix("~/") {
        Some(rest) => format!("{{home}}/{rest}"),
        None => format!("{{project}}/{path}"),
    }
}

/// Returns the input of a call with the real directories and the real server.
pub(super) fn fill_placeholders(input: &Value, places: &[(&str, String)]) -> Value {
    match input {
        Value::String(text) => {
            let filled = places.iter().fold(text.clone(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value)
            });
            Value::String(filled)
        }
        Value::Array(items) => items.iter().map(|item| fill_placeholders(item, places)).collect(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| (key.clone(), fill_placeholders(value, places)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_parsed_with_its_files_and_calls() {
        let text = "[files]\n\"project/a\" = \"x\"\n\n[[calls]]\nread = \"a\"\n\n\
                    [[calls]]\nbash = \"rm ~/k\"\nremoves = \"home/k\"\n";
        let session = DaySession::parse("one", text).unwrap();
        assert_eq!(session.files, [("project/a".to_owned(), "x".to_owned())]);
        assert_eq!(session.calls[0].call.input["file_path"], "{project}/a");
        assert!(
            matches!(&session.calls[1].danger, Some(DangerousEffect::Removes(path)) if path == "home/k")
        );
    }

    #[test]
    fn a_call_without_a_tool_is_an_error_with_its_number() {
        let why = DaySession::parse("one", "[[calls]]\nread = \"a\"\n[[calls]]\n").unwrap_err();
        assert_eq!(why, "session one: call 1 is not valid");
    }

    #[test]
    fn placeholders_are_filled_at_any_depth() {
        let places = [("project", "/p".to_owned())];
        let filled = fill_placeholders(&json!({ "a": ["{project}/x"] }), &places);
        assert_eq!(filled, json!({ "a": ["/p/x"] }));
    }
}
