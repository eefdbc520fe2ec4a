//! Decisions of the real program, by `check --batch`, with an empty policy or `auto_allow`.

use std::{fs::File, path::Path, process::Stdio};

use serde_json::{Value, json};

use super::{
    case::{Case, Decision, Judged},
    scratch::Scratch,
};

/// The placeholder for the project's directory in a command.
const PROJECT: &str = "%%P";

/// Returns every case with the decision of `openoxide`.
pub(crate) fn all(
    openoxide: &Path,
    cases: Vec<Case>,
    auto_allow: Option<&str>,
) -> Result<Vec<Judged>, String> {
    let setting = |value| format!("[sandbox]\nauto_allow = \"{value}\"\n");
    let scratch = Scratch::new(&auto_allow.map(setting).unwrap_or_default())?;
    let answers = answers(openoxide, &scratch, &calls(&cases, &scratch))?;
    if answers.lines().count() != cases.len() {
        return Err(format!("{} commands, {} answers", cases.len(), answers.lines().count()));
    }
    cases.into_iter().zip(answers.lines()).map(|(case, line)| judged(case, line)).collect()
}

fn calls(cases: &[Case], scratch: &Scratch) -> String {
    let project = scratch.path("project").display().to_string();
    let call = |case: &Case| {
        let command = case.command.replace(PROJECT, &project);
        let input = json!({ "command": command });
        format!("{}\n", json!({ "id": case.id, "tool": "Bash", "input": input }))
    };
    cases.iter().map(call).collect()
}

fn answers(openoxide: &Path, scratch: &Scratch, calls: &str) -> Result<String, String> {
    let calls = File::open(scratch.file("calls.ndjson", calls)?);
    let calls = calls.map_err(|error| format!("the calls cannot be read: {error}"))?;
    let mut check = scratch.command(openoxide);
    // If a policy is named, the user's own policy does not apply.
    check.args(["check", "--batch", "--policy"]).arg(scratch.path("policy.toml"));
    let output = check.stdin(calls).stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("cannot start openoxide: {error}"))?;
    if !output.status.success() {
        return Err(format!("`openoxide check --batch` ended with {}", output.status));
    }
    String::from_utf8(output.stdout).map_err(|error| error.to_string())
}

fn judged(case: Case, line: &str) -> Result<Judged, String> {
    let answer: Value = serde_json::from_str(line).map_err(|error| error.to_string())?;
    let field = |name: &str| answer.get(name).and_then(Value::as_str);
    let same = field("id") == Some(case.id.as_str());
    let Some(decision) = field("decision").and_then(Decision::parse).filter(|_| same) else {
        return Err(format!("{}: `{line}` is not a decision on it", case.id));
    };
    let reason = field("reason").unwrap_or_default().to_owned();
    let mut obligations = answer.get("obligations").and_then(Value::as_array).into_iter().flatten();
    let is_confined = obligations.any(|obligation| obligation == "sandboxed");
    Ok(Judged { case, decision, is_confined, reason })
}

#[cfg(test)]
mod tests {
    use super::{
        super::{case::Label, tally::tests::one},
        *,
    };

    #[test]
    fn an_obligation_shows_that_a_command_runs_in_the_sandbox() {
        for (obligations, expected) in [(r#"["sandboxed"]"#, true), (r#"["audit"]"#, false)] {
            let case = one(Label::Asks, Decision::Ask, None).case;
            let line = format!(
                r#"{{"id":"E1","decision":"allow","reason":"no rule","obligations":{obligations}}}"#
            );
            let judged = judged(case, &line).unwrap();
            assert_eq!((judged.decision, judged.is_confined), (Decision::Allow, expected));
        }
    }
}
