//! The language of Codex's rule files, where they are more than plain calls: a program beside this one evaluates them.
//!
//! It is looked for in no search path: who writes there would say what the rules are.

use std::{
    env,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use openoxide_codex::exact_semantics::{ParsedRuleFile, RuleFileError, RuleSource};
use serde_json::json;

const PROGRAM_NAME: &str = "openoxide-starlark";
/// What a file can say is bounded by its own bounds; this holds a program that is not the right one.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// Evaluates a rule file.
///
/// # Errors
/// Where Codex would not take the file; and when there is no program for it, or it fails.
pub(crate) fn evaluate_rule_file(source: RuleSource<'_>) -> Result<ParsedRuleFile, RuleFileError> {
    let answer = query_evaluator(source)
        .map_err(|error| RuleFileError::limit_exceeded(&unavailable_message(&error)))?;
    serde_json::from_slice(&answer).unwrap_or_else(|_| {
        Err(RuleFileError::limit_exceeded("reading the file takes too much time or memory"))
    })
}

fn unavailable_message(error: &io::Error) -> String {
    let missing = error.kind() == io::ErrorKind::NotFound;
    let why = if missing {
        "is missing (`cargo build` builds both)".to_owned()
    } else {
        format!("failed: {error}")
    };
    format!(
        "the file is more than plain calls, and `{PROGRAM_NAME}` beside `openoxide`, which evaluates such files, {why}"
    )
}

fn query_evaluator(source: RuleSource<'_>) -> io::Result<Vec<u8>> {
    let mut child = start_evaluator(&evaluator_path()?)?;
    let asked = json!({ "name": source.name, "text": source.text, "hosts": source.hosts });
    let sent = child
        .stdin
        .take()
        .map_or(Ok(()), |mut input| input.write_all(asked.to_string().as_bytes()));
    let mut answer = Vec::new();
    if let Some(output) = child.stdout.take() {
        output.take(MAX_ANSWER_BYTES).read_to_end(&mut answer)?;
    }
    // Whoever is stopped by a bound has not read all, or has not answered: what is no answer says so.
    drop(sent);
    child.wait()?;
    Ok(answer)
}

fn evaluator_path() -> io::Result<PathBuf> {
    Ok(env::current_exe()?.with_file_name(PROGRAM_NAME))
}

fn start_evaluator(program: &PathBuf) -> io::Result<Child> {
    let mut command = Command::new(program);
    command.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn()
}
