//! Test calls: a payload for the installed hook, which is started as the agent starts it.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    agent_wiring::{Problem, ProblemCode, WiredHook},
    args::AgentName,
    commands::init,
};

/// The policy of the test calls. It replaces the user's policy for the time of a call.
const POLICY: &str = r#"[permissions]
deny = ["Bash(openoxide-test-call deny)"]
ask = ["Bash(openoxide-test-call ask)"]
allow = ["Bash(openoxide-test-call allow)"]
"#;
const BROKEN_POLICY: &str = "[permissions\n";
/// The most that a hook may print.
const MAX_OUTPUT_BYTES: u64 = 1 << 20;
/// The exit status with which a hook blocks a call.
const BLOCK_STATUS: i32 = 2;

/// A test call, and what has to happen to it.
#[derive(Clone, Copy, Debug)]
struct TestCall {
    command: &'static str,
    policy: &'static str,
    /// The situation, for messages.
    title: &'static str,
    expected: ExpectedAnswer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedAnswer {
    Allow,
    NotAllowed,
    Deny,
}

const CALLS: [TestCall; 4] = [
    TestCall {
        command: "openoxide-test-call allow",
        policy: POLICY,
        title: "a call that a rule allows",
        expected: ExpectedAnswer::Allow,
    },
    TestCall {
        command: "openoxide-test-call ask",
        policy: POLICY,
        title: "a call that a rule asks about",
        expected: ExpectedAnswer::NotAllowed,
    },
    TestCall {
        command: "openoxide-test-call deny",
        policy: POLICY,
        title: "a call that a rule denies",
        expected: ExpectedAnswer::Deny,
    },
    TestCall {
        command: "openoxide-test-call allow",
        policy: BROKEN_POLICY,
        title: "a call under a policy with errors",
        expected: ExpectedAnswer::NotAllowed,
    },
];

/// What the agent would do with a call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AgentAction {
    /// The agent runs it, or its own rules decide.
    Continue(String),
    Ask,
    Deny,
    /// The hook ended with the status that blocks. Contains its message.
    Block(String),
    /// The hook cannot be judged.
    Unclear(String),
}

/// Sends the test calls through the hooks of an agent, and returns the problems. Nothing more is
/// sent after a call without an answer.
pub(super) fn send_test_calls(agent: AgentName, hooks: &[WiredHook]) -> Vec<Problem> {
    let calls = hooks.iter().flat_map(|hook| CALLS.iter().map(move |call| (hook, call)));
    let mut problems = Vec::new();
    for (hook, call) in calls {
        // Codex itself asks about the others.
        if hook.leaves_questions_to_agent() && call.expected != ExpectedAnswer::Deny {
            continue;
        }
        let problem = call.check(agent, hook);
        let is_unanswered = problem.as_ref().is_some_and(|p| p.code == ProblemCode::NoAnswer);
        problems.extend(problem);
        if is_unanswered {
            break;
        }
    }
    problems
}

/// The id of the calls that `doctor` makes. Their questions do not wait for an answer.
pub(crate) const TEST_CALL_ID: &str = "openoxide-doctor";

impl TestCall {
    fn check(self, agent: AgentName, hook: &WiredHook) -> Option<Problem> {
        let action = self
            .send(agent, hook)
            .unwrap_or_else(|error| AgentAction::Unclear(format!("cannot start it: {error}")));
        let (title, event) = (self.title, hook.event);
        let init = init::init_command(agent);
        match (self.expected, action) {
            (ExpectedAnswer::Allow, AgentAction::Block(why)) => Some(Problem::with_command(
                ProblemCode::CallsBlocked,
                format!("{event}: {title} was blocked: {why}"),
                init,
            )),
            (ExpectedAnswer::NotAllowed | ExpectedAnswer::Deny, AgentAction::Continue(what)) => {
                Some(Problem::with_command(
                    ProblemCode::CallAllowed,
                    format!("{event}: {title} was not stopped: {what}"),
                    init,
                ))
            }
            (_, AgentAction::Unclear(why)) => Some(Problem::with_advice(
                ProblemCode::NoAnswer,
                format!("{event}: {title}: {why}"),
                format!("run `{}` by hand, and look at its output", hook.command()),
            )),
            (ExpectedAnswer::Deny, AgentAction::Ask) => Some(Problem::with_advice(
                ProblemCode::NoAnswer,
                format!("{event}: {title} was asked about, so another policy was in force"),
                "look at `openoxide config path`: the managed policy, or variables in the hook's command",
            )),
            _ => None,
        }
    }

    fn send(self, agent: AgentName, hook: &WiredHook) -> io::Result<AgentAction> {
        let place = TempDir::with_prefix("openoxide-doctor-")?;
        let (project, policy) =
            (place.path().join("project"), place.path().join("config/openoxide"));
        fs::create_dir_all(&project)?;
        fs::create_dir_all(&policy)?;
        fs::write(policy.join("policy.toml"), self.policy)?;
        let mut command = hook_command(hook);
        command.current_dir(&project).env("CLAUDE_PROJECT_DIR", &project);
        for (name, directory) in [
            ("XDG_CONFIG_HOME", "config"),
            ("XDG_STATE_HOME", "state"),
            ("XDG_CACHE_HOME", "cache"),
            ("XDG_DATA_HOME", "data"),
        ] {
            command.env(name, place.path().join(directory));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let payload = self.payload(hook.event, &project).to_string();
        let timeout = Duration::from_secs(hook.timeout().min(10));
        Ok(match run_hook(command.spawn()?, &payload, timeout) {
            None => AgentAction::Unclear(format!("no answer within {} s", timeout.as_secs())),
            Some(ended) => ended.agent_action(agent, hook.event),
        })
    }

    fn payload(self, event: &str, project: &Path) -> Value {
        json!({
            "session_id": "00000000-0000-4000-8000-000000000000",
            "transcript_path": "",
            "cwd": project,
            "permission_mode": "default",
            "hook_event_name": event,
            "tool_name": "Bash",
            "tool_input": { "command": self.command },
            "tool_use_id": TEST_CALL_ID,
        })
    }
}

/// Returns the command of a hook, as agents start it: by a shell, unless it has arguments.
fn hook_command(hook: &WiredHook) -> Command {
    match hook.args() {
        Some(args) => {
            let mut command = Command::new(hook.command());
            command.args(args);
            command
        }
        None => {
            let mut command = Command::new("sh");
            command.args(["-c", hook.command()]);
            command
        }
    }
}

/// A hook that has ended.
struct EndedHook {
    status: Option<i32>,
    output: String,
    errors: String,
}

/// Runs a hook to its end, or stops it after the timeout.
fn run_hook(mut child: Child, payload: &str, timeout: Duration) -> Option<EndedHook> {
    if let Some(mut input) = child.stdin.take() {
        let payload = payload.to_owned();
        // A hook that reads nothing closes the pipe. Its answer shows what it does.
        thread::spawn(move || drop(input.write_all(payload.as_bytes())));
    }
    let output = collect(child.stdout.take());
    let errors = collect(child.stderr.take());
    let texts = output
        .recv_timeout(timeout)
        .and_then(|output| errors.recv_timeout(timeout).map(|errors| (output, errors)));
    if texts.is_err() {
        // It may have ended in the meantime.
        child.kill().ok();
    }
    let status = child.wait().ok()?.code();
    texts.ok().map(|(output, errors)| EndedHook { status, output, errors })
}

fn collect(stream: Option<impl io::Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let limited = stream.map(|stream| stream.take(MAX_OUTPUT_BYTES));
        let read = limited.map_or(Ok(0), |mut stream| stream.read_to_end(&mut bytes));
        // After the timeout, the receiver does not exist any more.
        drop(read.map(|_| sender.send(String::from_utf8_lossy(&bytes).into_owned())));
    });
    receiver
}

impl EndedHook {
    /// Returns what the agent does after this answer.
    fn agent_action(&self, agent: AgentName, event: &str) -> AgentAction {
        match self.status {
            Some(BLOCK_STATUS) => return AgentAction::Block(self.errors.trim().to_owned()),
            Some(0) => {}
            Some(status) => {
                return AgentAction::Continue(format!("the hook ended with status {status}"));
            }
            None => return AgentAction::Continue("the hook was killed".to_owned()),
        }
        let answer = serde_json::from_str::<Value>(&self.output).unwrap_or_default();
        let answer = answer.get("hookSpecificOutput").cloned().unwrap_or_default();
        let decision = match event {
            "PreToolUse" => answer.get("permissionDecision"),
            _ => answer.get("decision").and_then(|decision| decision.get("behavior")),
        };
        match (decision.and_then(Value::as_str), agent, event) {
            (Some("deny"), _, _) => AgentAction::Deny,
            (Some("ask"), AgentName::Claude, _) => AgentAction::Ask,
            // Without an answer to this event, the agent asks its user.
            (None, _, "PermissionRequest") => AgentAction::Ask,
            (Some(decision), _, _) => AgentAction::Continue(format!("the answer was `{decision}`")),
            (None, _, _) => AgentAction::Continue("there was no decision".to_owned()),
        }
    }
}
