//! Evaluation of Codex rule files that contain more than plain calls. A separate program next to
//! this one evaluates them.
//!
//! The program is not looked up in a search path: anyone who can write to a directory of the path
//! could replace the rules.

use std::{
    env,
    io::{self, Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use openoxide_codex::exact_semantics::{ParsedRuleFile, RuleFileError, RuleFileSource};
use serde_json::json;

const PROGRAM_NAME: &str = "openoxide-starlark";
/// The maximum size of an answer. The content of a file has its own limits; this limit protects
/// against another program of that name.
const MAX_ANSWER_BYTES: u64 = 256 << 20;

/// Evaluates a rule file.
///
/// # Errors
/// If Codex would reject the file, or if the evaluator is missing or fails.
pub fn evaluate_rule_file(source: RuleFileSource<'_>) -> Result<ParsedRuleFile, RuleFileError> {
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

fn query_evaluator(source: RuleFileSource<'_>) -> io::Result<Vec<u8>> {
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
    // An evaluator that was stopped by a limit may not have read all of its input or may not have
    // answered. An incomplete answer is detected when it is parsed.
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
