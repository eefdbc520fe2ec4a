//! The parts of an answer that are compared: a verdict and its details.

use serde_json::{Value, json};

use super::rejection;

/// The answer of a program to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    /// `RUN`, `PROMPT` or `REJECT`.
    pub(super) verdict: String,
    /// The text that the person reads, or that the model reads on a rejection.
    pub(super) reason: Value,
    /// The amendment that a permanent approval would add.
    pub(super) amend: Value,
    /// The decisions that are offered.
    pub(super) avail: Value,
    /// True if the question is about files, not about a command.
    pub(super) files: bool,
}

/// The beginning of the output for a patch that could not be applied.
const PATCHED: &str = "Exit code: 1";

/// The question of Codex after the sandbox has stopped a command. The policy had let the command
/// run.
const RETRY: &str = "command failed; retry without sandbox?";

impl Answer {
    /// Reads the answer from the question of Codex about the call and from the output that its
    /// model read afterwards.
    ///
    /// # Errors
    /// The answer is not a question, not a run and not a rejection.
    pub(super) fn theirs(asked: Option<&Value>, output: Option<&str>) -> Result<Self, String> {
        let part = |name| asked.and_then(|asked| asked.get(name)).cloned().unwrap_or_default();
        if part("reason") == RETRY {
            return Ok(Self::bare("RUN", Value::Null));
        }
        if asked.is_some() {
            let (amend, avail) = (part("proposedExecpolicyAmendment"), part("availableDecisions"));
            let files = part("isAboutFiles") == true;
            return Ok(Self { amend, avail, files, ..Self::bare("PROMPT", part("reason")) });
        }
        let output = output.ok_or("the model read nothing of the call")?;
        match rejection::text(output) {
            Some(text) => Ok(Self::bare("REJECT", text.into())),
            None if ran(output) => Ok(Self::bare("RUN", Value::Null)),
            None => Err(format!("what does this mean? {output}")),
        }
    }

    /// Parses the answer of OpenOxide.
    pub(super) fn ours(line: &str) -> Result<Self, String> {
        let value: Value =
            serde_json::from_str(line).map_err(|error| format!("{error} in our answer {line}"))?;
        let part = |name| value.get(name).cloned().unwrap_or_default();
        let verdict = part("verdict").as_str().unwrap_or_default().to_owned();
        let files = verdict == "PROMPT" && !part("changes").is_null();
        let (amend, avail) = (part("amend"), part("avail"));
        Ok(Self { verdict, reason: part("reason"), amend, avail, files })
    }

    /// Adds the answer to a row of the corpus.
    pub(super) fn row(&self, mut row: Value) -> Value {
        let Self { verdict, reason, amend, avail, files } = self;
        let more = json!({ "verdict": verdict, "reason": reason, "amend": amend, "avail": avail });
        if let (Some(row), Value::Object(more)) = (row.as_object_mut(), more) {
            row.extend(more);
            row.extend(files.then(|| ("files".to_owned(), json!(true))));
        }
        row
    }

    fn bare(verdict: &str, reason: Value) -> Self {
        let (verdict, files) = (verdict.to_owned(), false);
        Self { verdict, reason, amend: Value::Null, avail: Value::Null, files }
    }
}

/// Returns whether a command was started. The policy does not decide what the sandbox did to it
/// afterwards.
fn ran(output: &str) -> bool {
    [
        "Process exited with code",
        "Process running with session",
        "Success. Updated the following files",
        PATCHED,
    ]
    .iter()
    .any(|sign| output.contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The words are those of Codex 0.169.
    #[test]
    fn questions_runs_and_rejections_are_distinguished() {
        let asked =
            json!({ "proposedExecpolicyAmendment": ["uu"], "availableDecisions": ["accept"] });
        let prompt = Answer::theirs(Some(&asked), Some("declined")).unwrap();
        assert_eq!((prompt.verdict.as_str(), prompt.amend), ("PROMPT", json!(["uu"])));
        let run = "Chunk ID: 1\nWall time: 0.0 seconds\nProcess exited with code 127\nOutput:\n";
        assert_eq!(Answer::theirs(None, Some(run)).unwrap().verdict, "RUN");
        let no = r#"exec_command failed: CreateProcess { message: "Rejected(\"no\")" }"#;
        assert_eq!(Answer::theirs(None, Some(no)).unwrap().reason, "no");
        assert!(Answer::theirs(None, Some("hm")).is_err());
        assert!(Answer::theirs(None, None).is_err());
    }

    #[test]
    fn a_retry_is_a_run() {
        let asked = json!({ "reason": RETRY, "availableDecisions": ["accept"] });
        assert_eq!(Answer::theirs(Some(&asked), None).unwrap(), Answer::bare("RUN", Value::Null));
    }

    #[test]
    fn our_answer_is_read_from_its_line() {
        let line = r#"{"verdict":"REJECT","reason":"no","amend":null,"bypass_sandbox":false,"avail":null}"#;
        assert_eq!(Answer::ours(line).unwrap(), Answer::bare("REJECT", "no".into()));
        assert!(Answer::ours("?").is_err());
    }
}
