//! The wait for an answer in another terminal, and the signs that the client no longer needs one.
//!
//! Claude Code shows its dialog while its hook runs, and does not stop the hook when the person
//! answers there (observed on 2.1.330). The end of the question is therefore read from the client's
//! transcript, which then contains the result of the call.

use std::{
    cell::RefCell,
    fs::{self, File},
    io::{Read as _, Seek as _, SeekFrom},
    path::PathBuf,
    time::{Duration, Instant},
};

use openoxide_adapters::agent_hook::{AgentHookCall, AgentHookEvent, is_user_prompt_tool};
use openoxide_engine::find_announced_call;
use openoxide_protocol::PermissionMode;
use openoxide_store::{ClientProcess, UserEnvironment};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::hook_client::HookClient;
use crate::commands::doctor::TEST_CALL_ID;

/// The interval between two reads of the transcript.
const TRANSCRIPT_INTERVAL: Duration = Duration::from_millis(500);

/// The maximum number of bytes that are read from the transcript at once.
const MAX_TRANSCRIPT_BYTES: u64 = 4 << 20;

/// The variable with which Claude Code reports that its session is unattended.
const ATTENDED_VARIABLE: &str = "CLAUDE_CODE_SESSION_ATTENDED";

/// Returns whether a question about the call may wait. The wait never delays a dialog: Claude Code
/// shows its dialog while the hook runs, and shows none in an unattended session. Codex has no
/// dialog for its hook, and denies a call without an answer.
///
/// In a mode in which the person does not want questions, none waits. A payload on a pipe registers
/// no question for Claude Code, which uses a socket. A program that starts the hook with a socket of
/// its own can register one.
pub(super) fn may_wait(
    client: HookClient,
    call: &AgentHookCall,
    process: Option<&ClientProcess>,
) -> bool {
    let refuses_questions = call.mode == Some(PermissionMode::DontAsk);
    if refuses_questions || is_user_prompt_tool(&call.tool) || call.call_id == TEST_CALL_ID {
        return false;
    }
    match client {
        HookClient::Claude => {
            process.is_some() && (call.event == AgentHookEvent::PermissionRequest || !is_attended())
        }
        HookClient::Codex(_) => call.event == AgentHookEvent::PreToolUse,
    }
}

/// Returns whether the client's session is attended. A client that does not report this is
/// attended.
pub(super) fn is_attended() -> bool {
    std::env::var_os(ATTENDED_VARIABLE).is_none_or(|value| value != "0")
}

/// The client of a waiting question.
pub(super) struct WaitingClient {
    transcript: Option<RefCell<Transcript>>,
}

impl WaitingClient {
    /// Starts to watch the client of a call.
    pub(super) fn new(
        client: HookClient,
        call: &AgentHookCall,
        process: Option<&ClientProcess>,
        environment: &UserEnvironment,
    ) -> Self {
        let id = match call.call_id.is_empty() {
            false => Some(call.call_id.clone()),
            true => find_announced_call(environment, client.name(), call, process),
        };
        let path = call.transcript.clone().map(PathBuf::from);
        let transcript = id.zip(path).and_then(|(id, path)| Transcript::open(path, &id));
        Self { transcript: transcript.map(RefCell::new) }
    }

    /// Returns whether the client has ended or has the result of the call.
    pub(super) fn is_gone(&self) -> bool {
        is_output_closed()
            || self.transcript.as_ref().is_some_and(|file| file.borrow_mut().has_result())
    }
}

/// Returns whether the client has closed its end of the standard output.
fn is_output_closed() -> bool {
    let output = std::io::stdout();
    let mut watched = [PollFd::new(&output, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut watched, Some(&now)).is_ok()
        && watched.iter().any(|fd| fd.revents().intersects(PollFlags::ERR | PollFlags::HUP))
}

/// The part of a transcript that was written after the question.
struct Transcript {
    path: PathBuf,
    /// The id of the call, as JSON contains it.
    id: String,
    position: u64,
    next_read: Instant,
}

impl Transcript {
    fn open(path: PathBuf, call_id: &str) -> Option<Self> {
        let meta = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let id = serde_json::to_string(call_id).ok()?;
        Some(Self { path, id, position: meta.len(), next_read: Instant::now() })
    }

    /// Returns whether a line that was added contains the result of the call.
    fn has_result(&mut self) -> bool {
        if Instant::now() < self.next_read {
            return false;
        }
        self.next_read = Instant::now() + TRANSCRIPT_INTERVAL;
        let added = self.read_added().unwrap_or_default();
        let end = added.iter().rposition(|byte| *byte == b'\n').map(|index| index + 1);
        // A line that does not fit is skipped, so that later ones are seen.
        let is_full = added.len() as u64 == MAX_TRANSCRIPT_BYTES;
        let end = end.unwrap_or(if is_full { added.len() } else { 0 });
        self.position += end as u64;
        let lines = String::from_utf8_lossy(added.get(..end).unwrap_or_default());
        lines.lines().any(|line| line.contains("\"tool_result\"") && line.contains(&self.id))
    }

    fn read_added(&self) -> std::io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.position))?;
        let mut bytes = Vec::new();
        file.take(MAX_TRANSCRIPT_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_a_new_result_of_the_call_ends_the_question() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("transcript.jsonl");
        let line = |kind: &str, id: &str| format!("{{\"type\":\"{kind}\",\"id\":\"{id}\"}}\n");
        fs::write(&path, line("tool_result", "toolu_1")).unwrap();
        let mut transcript = Transcript::open(path.clone(), "toolu_1").unwrap();
        let mut append = |text: &str| {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
            transcript.next_read = Instant::now();
            transcript.has_result()
        };
        assert!(!append(""), "the result of an earlier call with the same id");
        assert!(!append(&line("tool_use", "toolu_1")));
        assert!(!append(&line("tool_result", "toolu_12")));
        assert!(!append(line("tool_result", "toolu_1").trim_end()), "an incomplete line");
        assert!(append("\n"));
        let long = "x".repeat(usize::try_from(MAX_TRANSCRIPT_BYTES).unwrap());
        assert!(!append(&long) && !append("\n"));
        assert!(append(&line("tool_result", "toolu_1")), "after a line that is too long");
    }

    #[test]
    fn a_transcript_that_is_not_a_file_is_not_watched() {
        assert!(Transcript::open(PathBuf::from("/"), "toolu_1").is_none());
        assert!(Transcript::open(PathBuf::from("/x.jsonl"), "toolu_1").is_none());
    }
}
