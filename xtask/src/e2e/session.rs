//! The results of a session: the files of the project, and the outputs that the model read.

use std::{fs, path::PathBuf};

use serde_json::Value;
use tempfile::TempDir;

use super::mock_model::{MockModel, ToolResult};

/// The number of bytes of the client's transcript that a failure shows.
const TAIL: usize = 4000;

/// The results of one run of the client.
#[derive(Debug)]
pub(crate) struct Session {
    folder: TempDir,
    model: MockModel,
}

impl Session {
    /// Returns the session that ran in `folder` with `model`.
    pub(crate) fn new(folder: TempDir, model: MockModel) -> Self {
        Self { folder, model }
    }

    /// Returns the outcome of call number `step` that the model read.
    pub(crate) fn outcome(&self, step: usize) -> Option<ToolResult> {
        self.model.tool_result(step)
    }

    /// Returns the names of the tools that the client reports at its start.
    pub(crate) fn tools(&self) -> Result<Vec<String>, String> {
        let output = fs::read_to_string(self.folder.path().join("stdout")).unwrap_or_default();
        let events = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let tools = events.filter_map(|event| event.get("tools")?.as_array().cloned()).next();
        let names = tools.ok_or_else(|| self.fault("the client does not report its tools"))?;
        Ok(names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
    }

    /// Returns the path of `name` in the world of the session.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Checks that the project has the file `name`.
    pub(crate) fn made(&self, name: &str) -> Result<(), String> {
        let there = self.in_project(name).exists();
        self.hold(there, || format!("`{name}` is not there: the call did not run"))
    }

    /// Checks that the project does not have the file `name`.
    pub(crate) fn left_no(&self, name: &str) -> Result<(), String> {
        let there = self.in_project(name).exists();
        self.hold(!there, || format!("`{name}` is there: the call ran"))
    }

    /// Checks that the file `name` of the project still contains `text`.
    pub(crate) fn left_unchanged(&self, name: &str, text: &str) -> Result<(), String> {
        let same = fs::read_to_string(self.in_project(name)).is_ok_and(|found| found == text);
        self.hold(same, || format!("`{name}` was changed"))
    }

    /// Checks that the outcome of call number `step` is an error with `words`.
    pub(crate) fn refused(&self, step: usize, words: &str) -> Result<(), String> {
        let outcome = self.outcome(step);
        let holds = outcome.as_ref().is_some_and(|o| o.is_error && o.text.contains(words));
        self.hold(holds, || format!("call {step} was not refused with {words:?}: {outcome:?}"))
    }

    /// Checks that the outcome of call number `step` contains nothing of `secret`.
    pub(crate) fn kept_secret(&self, step: usize, secret: &str) -> Result<(), String> {
        let outcome = self.outcome(step);
        let told = outcome.as_ref().is_none_or(|outcome| outcome.text.contains(secret));
        self.hold(!told, || format!("the model read {secret:?}: {outcome:?}"))
    }

    /// Returns `why` with the end of the client's transcript.
    pub(crate) fn fault(&self, why: &str) -> String {
        let read = |name| fs::read(self.folder.path().join(name)).unwrap_or_default();
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| tail(&read(name)));
        format!("  {why}\n--- the client's stdout ends:\n{stdout}\n--- its stderr:\n{stderr}\n---")
    }

    fn in_project(&self, name: &str) -> PathBuf {
        self.folder.path().join("project").join(name)
    }

    fn hold(&self, holds: bool, why: impl FnOnce() -> String) -> Result<(), String> {
        if holds { Ok(()) } else { Err(self.fault(&why())) }
    }
}

fn tail(bytes: &[u8]) -> String {
    let end = bytes.last_chunk::<TAIL>().map_or(bytes, <[u8; TAIL]>::as_slice);
    String::from_utf8_lossy(end).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::e2e::mock_model::Script;

    fn session() -> Session {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("project")).unwrap();
        fs::write(folder.path().join("project/here"), "text").unwrap();
        fs::write(folder.path().join("stdout"), "the last words").unwrap();
        Session::new(folder, MockModel::start(Script::default()).unwrap())
    }

    #[test]
    fn files_of_the_project_show_which_calls_ran() {
        let session = session();
        assert!(session.made("here").is_ok() && session.left_no("gone").is_ok());
        assert!(session.left_unchanged("here", "text").is_ok());
        assert!(session.left_unchanged("here", "other").is_err());
    }

    #[test]
    fn a_call_without_outcome_is_neither_refused_nor_kept_secret() {
        let session = session();
        assert!(session.refused(0, "").is_err() && session.kept_secret(0, "x").is_err());
    }

    #[test]
    fn a_failure_shows_the_end_of_the_transcript() {
        assert!(session().made("gone").unwrap_err().contains("the last words"));
        assert_eq!(tail(&[b'a'; TAIL + 1]).len(), TAIL);
    }
}
