//! The decisions about the scripts, from `openoxide check --batch`.

use std::{
    fs,
    io::Write as _,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

use super::{arena::Arena, script::Script};

/// The presets. The first one is the built-in policy.
pub(super) const PRESETS: [&str; 3] = ["careful", "balanced", "hands-off"];

/// The number of decisions of each kind.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) asked: usize,
    pub(super) denied: usize,
    /// Allowed in the sandbox.
    pub(super) confined: usize,
    /// Allowed without a sandbox.
    pub(super) allowed: usize,
}

/// The decisions about the scripts of one language in one form.
pub(super) struct DecisionRow {
    pub(super) preset: &'static str,
    /// The language and the form.
    pub(super) form: String,
    pub(super) tally: Tally,
}

/// Decides about each script, as code in the command line and as a file of the project.
pub(super) fn count(arena: &Arena, scripts: &[Script]) -> Result<Vec<DecisionRow>, String> {
    let project = tempfile::tempdir().map_err(|error| error.to_string())?;
    for script in scripts {
        let path = project.path().join(script.file().0);
        fs::write(path, &script.code).map_err(|error| error.to_string())?;
    }
    let mut rows = Vec::new();
    for preset in PRESETS {
        for (language, is_python) in [("Python", true), ("Bash", false)] {
            for (form, is_file) in [("in the command line", false), ("as a file", true)] {
                let chosen = scripts.iter().filter(|script| script.is_python == is_python);
                let calls: Vec<String> = chosen
                    .map(|script| if is_file { script.file().1 } else { script.command() })
                    .collect();
                let mut check = Command::new(arena.base.openoxide());
                check.args(["check", "--batch"]).current_dir(project.path()).env_clear();
                check.env("HOME", "/root").env("PATH", "/usr/bin:/bin");
                check.env("XDG_CONFIG_HOME", arena.base.configuration(preset));
                check.env("XDG_STATE_HOME", project.path().join("state"));
                let tally = decide(check, &calls)?;
                rows.push(DecisionRow { preset, form: format!("{language}, {form}"), tally });
            }
        }
    }
    Ok(rows)
}

fn decide(mut check: Command, calls: &[String]) -> Result<Tally, String> {
    let lines: String = calls
        .iter()
        .map(|call| format!("{}\n", json!({ "tool": "Bash", "input": { "command": call } })))
        .collect();
    let mut input = tempfile::tempfile().map_err(|error| error.to_string())?;
    input.write_all(lines.as_bytes()).map_err(|error| error.to_string())?;
    std::io::Seek::rewind(&mut input).map_err(|error| error.to_string())?;
    let output = check.stdin(input).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start openoxide: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    if text.lines().count() != calls.len() {
        return Err(format!("{} calls, {} answers", calls.len(), text.lines().count()));
    }
    let mut tally = Tally::default();
    for line in text.lines() {
        let answer: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
        tally.add(&answer);
    }
    Ok(tally)
}

impl Tally {
    fn add(&mut self, answer: &Value) {
        let is_confined = super::texts(answer, "obligations").iter().any(|one| one == "sandboxed");
        let count = match answer.get("decision").and_then(Value::as_str) {
            Some("ask") => &mut self.asked,
            Some("deny") => &mut self.denied,
            Some("allow") if is_confined => &mut self.confined,
            // An unknown answer is counted here, so that the run fails.
            _ => &mut self.allowed,
        };
        *count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_is_not_understood_is_not_taken_for_confined() {
        let mut tally = Tally::default();
        for text in [
            r#"{"decision":"allow","obligations":["sandboxed"]}"#,
            r#"{"decision":"allow","obligations":["audit"]}"#,
            r#"{"decision":"ask"}"#,
            r#"{"error":"too long"}"#,
        ] {
            tally.add(&serde_json::from_str(text).unwrap());
        }
        assert_eq!(tally, Tally { asked: 1, denied: 0, confined: 1, allowed: 2 });
    }
}
