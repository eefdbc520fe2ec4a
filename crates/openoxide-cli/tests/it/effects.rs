//! The cause that a question names: `corpus/effects.toml`, through `check --batch`.

use std::fs;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::{World, workspace};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// A command and the effect that a question about it names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    command: String,
    /// The command among several; without it the whole script.
    of: Option<String>,
    /// The code; without it nothing is asked.
    cause: Option<String>,
    effect: Option<String>,
    source: String,
}

impl Case {
    /// Returns how a decision differs from this case.
    fn difference(&self, decision: &Value) -> Option<String> {
        let text = self.of.as_deref().unwrap_or(&self.command);
        let mut parts = decision["parts"].as_array().into_iter().flatten();
        let Some(part) = parts.find(|part| part["text"] == text) else {
            return Some(format!("{}: no part `{text}`: {decision}", self.command));
        };
        let (cause, reason) = match (&self.cause, &self.effect) {
            (Some(code), Some(effect)) => (
                json!({ "code": code, "detail": effect }),
                format!("no rule matches `{text}`, which {effect}"),
            ),
            _ => (Value::Null, format!("`{text}` is read-only")),
        };
        (part["cause"] != cause || part["reason"] != reason)
            .then(|| format!("{} ({})\n    {part}", self.command, self.source))
    }
}

#[test]
fn a_question_names_the_effect_of_a_command() {
    let text = fs::read_to_string(workspace().join("corpus/effects.toml")).unwrap();
    let cases = toml::from_str::<Cases>(&text).unwrap().case;
    assert!(cases.len() >= 60, "{}", cases.len());
    let row = |(id, case): (usize, &Case)| {
        let input = json!({ "command": case.command });
        json!({ "id": id, "tool": "Bash", "input": input, "cwd": "/p" }).to_string() + "\n"
    };
    let rows: String = cases.iter().enumerate().map(row).collect();
    let output = World::new().run(&["check", "--batch"], rows.as_bytes());
    let answers = String::from_utf8(output.stdout).unwrap();
    let answers: Vec<Value> =
        answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), cases.len());
    let wrong: Vec<_> =
        cases.iter().zip(&answers).filter_map(|(case, answer)| case.difference(answer)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}
