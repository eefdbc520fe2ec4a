//! Questions of an agent's hook that wait for an answer in another terminal. The test is the client:
//! it starts the hook with a shell and a pair of sockets, as Claude Code does.

use std::{
    fs,
    io::Write as _,
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::PathBuf,
    process::{Child, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    pending::{asked, id, pending},
    support::{OPENOXIDE, World, code, stderr, stdout},
};

/// The hook two shells below the test, so that the test is not its starter.
const CLIENT: &str = "sh -c '\"$0\" \"$@\"; exit $?' \"$0\" \"$@\"; exit $?";

const SESSION: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

struct Client {
    world: World,
    /// False for a session without a person, such as `claude -p`.
    attended: bool,
    mode: &'static str,
}

impl Client {
    fn new(policy: &str) -> Self {
        let world = World::new().policy(policy);
        fs::write(world.root().join("transcript.jsonl"), "").unwrap();
        Self { world, attended: true, mode: "default" }
    }

    fn transcript(&self) -> PathBuf {
        self.world.root().join("transcript.jsonl")
    }

    fn payload(&self, event: &str, call: &str, command: &str) -> Value {
        let mut payload = json!({
            "session_id": SESSION, "transcript_path": self.transcript(),
            "cwd": self.world.project(), "prompt_id": "87e7", "permission_mode": self.mode,
            "hook_event_name": event, "tool_name": "Bash",
            "tool_input": { "command": command },
        });
        // A permission request of Claude Code does not name its call.
        if event != "PermissionRequest" {
            payload["tool_use_id"] = call.into();
        }
        payload
    }

    fn start(&self, words: &[&str], event: &str, call: &str, command: &str) -> Child {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", CLIENT, OPENOXIDE, "hook"]).args(words);
        let variables = self.world.command(&[]);
        shell.env_clear();
        shell.envs(variables.get_envs().filter_map(|(name, value)| Some((name, value?))));
        shell.env("PATH", "/usr/bin:/bin").current_dir(self.world.project());
        shell.env("CLAUDE_CODE_SESSION_ATTENDED", if self.attended { "1" } else { "0" });
        shell.stdout(Stdio::piped()).stderr(Stdio::piped());
        let payload = self.payload(event, call, command).to_string();
        if words.first() == Some(&"codex") {
            // Codex sends its payload through a pipe.
            let mut child = shell.stdin(Stdio::piped()).spawn().unwrap();
            child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
            return child;
        }
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let child = shell.stdin(OwnedFd::from(theirs)).spawn().unwrap();
        drop(shell);
        ours.write_all(payload.as_bytes()).unwrap();
        ours.shutdown(Shutdown::Write).unwrap();
        child
    }

    /// Decides a call before it runs, and opens the dialog about it.
    fn ask(&self, call: &str, command: &str) -> Child {
        let words = ["claude", "--wait=60"];
        let decided = self.start(&words, "PreToolUse", call, command);
        assert_eq!(decision(&decided.wait_with_output().unwrap()), "ask", "{command}");
        self.start(&words, "PermissionRequest", call, command)
    }

    fn finish(&self, call: &str, command: &str) {
        let ended = self.start(&["claude"], "PostToolUse", call, command);
        assert_eq!(code(&ended.wait_with_output().unwrap()), 0);
    }

    fn log(&self, args: &[&str]) -> String {
        stdout(&self.world.run(&[&["audit", "log"], args].concat(), b""))
    }
}

/// Runs a command as another terminal does: by a process that does not descend from the test, which
/// is the client. Returns the exit code and the errors.
fn answer(client: &Client, args: &[&str]) -> (i32, String) {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name);
    let script = "(\"$0\" \"$@\" > /dev/null 2> \"$OUT/errors\"; echo $? > \"$OUT/new\"; \
                  mv \"$OUT/new\" \"$OUT/code\") &";
    let mut shell = std::process::Command::new("sh");
    let variables = client.world.command(&[]);
    shell.env_clear();
    shell.envs(variables.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.env("PATH", "/usr/bin:/bin").env("OUT", directory.path());
    shell.args(["-c", script, OPENOXIDE]).args(args).current_dir(client.world.project());
    assert!(shell.status().unwrap().success());
    let start = Instant::now();
    while !file("code").exists() {
        assert!(start.elapsed() < Duration::from_secs(60), "it does not end");
        std::thread::sleep(Duration::from_millis(20));
    }
    let code = fs::read_to_string(file("code")).unwrap();
    (code.trim().parse().unwrap(), fs::read_to_string(file("errors")).unwrap())
}

fn hook_output(output: &Output) -> Value {
    let text = stdout(output);
    let found: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text:?}, {}", stderr(output)));
    found["hookSpecificOutput"].clone()
}

fn decision(output: &Output) -> String {
    hook_output(output)["permissionDecision"].as_str().unwrap().to_owned()
}

fn end(client: Child) -> Output {
    client.wait_with_output().unwrap()
}

#[test]
fn an_answer_of_another_terminal_closes_the_dialog() {
    let client = Client::new("");
    let dialog = client.ask("toolu_1", "touch a");
    let request = asked(&client.world, "touch a");
    assert_eq!((&request["who"], &request["session"]), (&"Claude Code".into(), &SESSION.into()));
    assert!(request["expires_at"].is_string(), "{request}");
    let list = stdout(&client.world.run(&["pending"], b""));
    assert!(list.contains("Claude Code") && list.contains("expires in "), "{list}");
    assert_eq!(answer(&client, &["approve", id(&request)]).0, 0);
    let output = end(dialog);
    assert_eq!(hook_output(&output)["decision"], json!({ "behavior": "allow" }));
    client.finish("toolu_1", "touch a");
    let log = client.log(&[]);
    assert_eq!(log.matches("touch a").count(), 2, "one row, and its reason: {log}");
    for text in ["ask, approved", "answered by `openoxide approve`", "after ", "ended: exit 0"] {
        assert!(log.contains(text), "{text}: {log}");
    }
    assert!(!log.contains("in the agent's dialog"), "{log}");
    let again = end(client.start(&["claude"], "PreToolUse", "toolu_2", "touch a"));
    assert_eq!(decision(&again), "ask", "an approval applies once");
}

#[test]
fn a_denial_reaches_the_model_with_its_message() {
    let client = Client::new("");
    let dialog = client.ask("toolu_1", "touch a");
    let request = asked(&client.world, "touch a");
    let denied = answer(&client, &["deny", id(&request), "--message", "use src"]);
    assert_eq!(denied.0, 0, "{}", denied.1);
    let found = hook_output(&end(dialog))["decision"].clone();
    assert_eq!(found["behavior"], "deny");
    assert!(found["message"].as_str().unwrap().contains("use src"), "{found}");
    // A rule that matches the denied call is never suggested.
    for (number, verb) in [(2, "approve"), (3, "approve")] {
        let (call, command) = (number.to_string(), format!("touch {number}"));
        let dialog = client.ask(&call, &command);
        assert_eq!(answer(&client, &[verb, id(&asked(&client.world, &command))]).0, 0);
        drop(end(dialog));
        client.finish(&call, &command);
    }
    let suggested = stdout(&client.world.run(&["rules", "suggest", "--json"], b""));
    assert!(suggested.contains("\"coverage\""), "{suggested}");
    assert!(!suggested.contains("Bash(touch *)"), "{suggested}");
}

#[test]
fn an_approval_for_the_session_or_the_project_also_answers_later_calls() {
    let client = Client::new("");
    for (scope, command, later, expected) in [
        ("session", "touch a", "touch a", "allow"),
        ("session", "touch b", "touch c", "ask"),
        ("project", "mkdir d", "mkdir e", "allow"),
    ] {
        let dialog = client.ask(command, command);
        let request = asked(&client.world, command);
        let approved = answer(&client, &["approve", id(&request), "--scope", scope]);
        assert_eq!(approved.0, 0, "{}", approved.1);
        assert_eq!(hook_output(&end(dialog))["decision"]["behavior"], "allow");
        client.finish(command, command);
        let again = end(client.start(&["claude"], "PreToolUse", "later", later));
        assert_eq!(decision(&again), expected, "{scope}: {command}, {later}");
    }
}

/// Claude Code does not stop its hook when the person answers the dialog (observed on 2.1.330). It
/// writes the result of the call into the transcript.
#[test]
fn a_question_ends_with_the_dialog() {
    let client = Client::new("");
    let dialog = client.ask("toolu_1", "touch a");
    let request = asked(&client.world, "touch a");
    let result = json!({ "type": "user", "message": { "content": [
        { "type": "tool_result", "tool_use_id": "toolu_1", "is_error": true, "content": "No" },
    ] } });
    fs::write(client.transcript(), format!("{result}\n")).unwrap();
    let output = end(dialog);
    assert_eq!((code(&output), stdout(&output)), (0, String::new()), "no answer");
    assert!(pending(&client.world).is_empty());
    let (status, why) = answer(&client, &["approve", id(&request)]);
    assert_eq!(status, 1);
    assert!(why.contains("was withdrawn") && why.contains("your answer was not used"), "{why}");
}

#[test]
fn a_question_ends_with_the_client() {
    let client = Client::new("");
    let mut dialog = client.ask("toolu_1", "touch a");
    asked(&client.world, "touch a");
    // The client is killed: its end of the pipe is closed, and the shell of the hook lives on.
    drop(dialog.stdout.take());
    let start = Instant::now();
    while !pending(&client.world).is_empty() {
        assert!(start.elapsed() < Duration::from_secs(20), "the question stays");
        std::thread::sleep(Duration::from_millis(50));
    }
    drop(dialog.wait());
}

#[test]
fn without_an_answer_the_client_asks() {
    let mut client = Client::new("");
    let dialog = client.start(&["claude", "--wait=1"], "PermissionRequest", "1", "touch a");
    let output = end(dialog);
    assert_eq!((code(&output), stdout(&output)), (0, String::new()));
    client.attended = false;
    let output = end(client.start(&["claude", "--wait=1"], "PreToolUse", "1", "touch a"));
    assert_eq!(decision(&output), "ask");
    assert!(client.log(&[]).contains("touch a"));
    client.mode = "dontAsk";
    let start = Instant::now();
    drop(end(client.start(&["claude", "--wait=60"], "PreToolUse", "1", "touch a")));
    assert!(start.elapsed() < Duration::from_secs(30), "the person wants no questions");
}

#[test]
fn a_session_without_a_person_waits_before_the_call() {
    let mut client = Client::new("[permissions]\nallow = [\"Bash(touch allowed)\"]\n");
    client.attended = false;
    let words = ["claude", "--wait=60"];
    let allowed = client.start(&words, "PreToolUse", "toolu_1", "touch allowed");
    assert_eq!(decision(&end(allowed)), "allow", "nothing waits without a question");
    let call = client.start(&words, "PreToolUse", "toolu_2", "touch a");
    let request = asked(&client.world, "touch a");
    assert_eq!(answer(&client, &["approve", id(&request)]).0, 0);
    let output = end(call);
    assert_eq!(decision(&output), "allow");
    client.attended = true;
    let call = end(client.start(&words, "PreToolUse", "toolu_3", "touch b"));
    assert_eq!(decision(&call), "ask", "the dialog appears at once");
}

/// The hook of Codex cannot ask, so a question is a denial there. Codex applies its own approval
/// after an allow.
#[test]
fn a_question_of_codex_waits() {
    let client = Client::new("");
    let words = ["codex", "--wait=60"];
    for (command, verb, expected) in [("touch a", "approve", ""), ("touch b", "deny", "deny")] {
        let call = client.start(&words, "PreToolUse", "call_1", command);
        let request = asked(&client.world, command);
        assert_eq!(request["who"], "Codex");
        let (status, why) = answer(&client, &["approve", id(&request), "--scope", "session"]);
        assert_eq!(status, 2, "Codex does not tell its process: {why}");
        assert!(why.contains("can only be approved once; remove `--scope`"), "{why}");
        assert_eq!(answer(&client, &[verb, id(&request)]).0, 0);
        let output = end(call);
        let found = match stdout(&output).is_empty() {
            true => String::new(),
            false => decision(&output),
        };
        assert_eq!(found, expected, "{}", stdout(&output));
    }
}

/// Guards I10.
#[test]
fn the_agent_that_asks_cannot_approve() {
    let client = Client::new("");
    let dialog = client.ask("toolu_1", "touch a");
    let request = asked(&client.world, "touch a");
    // A command of the agent is a question of its own.
    let command = format!("openoxide approve {}", id(&request));
    let decided = end(client.start(&["claude"], "PreToolUse", "toolu_2", &command));
    assert_eq!(decision(&decided), "ask");
    // A program that the agent runs unasked: a sibling of the hook, below the same client.
    let script = "\"$0\" hook claude --wait=60 <&3 & \
                  until id=$(\"$0\" pending --json | grep '\"touch own\"'); do sleep 0.1; done; \
                  id=${id#*\\\"id\\\":\\\"}; \"$0\" approve \"${id%%\\\"*}\"; echo \"status $?\"; \
                  \"$0\" deny --alone \"${id%%\\\"*}\"; echo \"status $?\"; wait";
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut agent = client.world.command(&[]);
    let variables: Vec<_> = agent
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    agent = std::process::Command::new("bash");
    agent.args(["-c", &format!("exec 3<&0; {script}"), OPENOXIDE]).envs(variables);
    agent.current_dir(client.world.project()).stdin(OwnedFd::from(theirs));
    agent.stdout(Stdio::piped()).stderr(Stdio::piped());
    let agent_process = agent.spawn().unwrap();
    drop(agent);
    let payload = client.payload("PermissionRequest", "toolu_3", "touch own");
    ours.write_all(payload.to_string().as_bytes()).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let output = agent_process.wait_with_output().unwrap();
    let (printed, errors) = (stdout(&output), stderr(&output));
    assert!(printed.contains("status 2"), "{printed}, {errors}");
    assert!(errors.contains("cannot approve its own request"), "{errors}");
    assert!(printed.contains("\"behavior\":\"deny\""), "it may deny: {printed}, {errors}");
    // The test is the client of the other question. Its child approves, also in a PID namespace in
    // which it has no ancestors.
    let namespace = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc", OPENOXIDE];
    for (program, words, reason) in [
        (OPENOXIDE, &[][..], "cannot approve its own request"),
        ("unshare", &namespace, "cannot tell whether the agent that asks started this process"),
    ] {
        let mut approve = std::process::Command::new(program);
        approve.args(words).args(["approve", id(&request)]);
        let variables = client.world.command(&[]);
        approve.env_clear().env("PATH", "/usr/bin:/bin").current_dir(client.world.project());
        approve.envs(variables.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let output = approve.output().unwrap();
        assert_eq!(code(&output), 2, "{program}: {}", stderr(&output));
        assert!(stderr(&output).contains(reason), "{program}: {}", stderr(&output));
    }
    assert_eq!(answer(&client, &["approve", id(&request)]).0, 0, "another terminal");
    assert_eq!(hook_output(&end(dialog))["decision"]["behavior"], "allow");
}

/// A person answers what was shown. A link may lead elsewhere by then.
///
/// Guards I10.
#[test]
fn an_approval_of_a_call_that_has_changed_does_not_apply() {
    let client = Client::new("");
    let project = client.world.project();
    let link = project.join("link");
    for name in ["one", "two"] {
        fs::create_dir(project.join(name)).unwrap();
    }
    std::os::unix::fs::symlink("one", &link).unwrap();
    let dialog = client.ask("toolu_1", "touch link/a");
    let request = asked(&client.world, "touch link/a");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("two", &link).unwrap();
    assert_eq!(answer(&client, &["approve", id(&request)]).0, 0);
    let output = end(dialog);
    assert_eq!((code(&output), stdout(&output)), (0, String::new()), "the dialog stays open");

    let call = client.start(&["codex", "--wait=60"], "PreToolUse", "call_1", "touch link/b");
    let request = asked(&client.world, "touch link/b");
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("one", &link).unwrap();
    assert_eq!(answer(&client, &["approve", id(&request)]).0, 0);
    let found = hook_output(&end(call));
    assert_eq!(found["permissionDecision"], "deny");
    let reason = found["permissionDecisionReason"].as_str().unwrap();
    assert!(
        reason.contains("the call changed while it waited") && reason.contains("one/b"),
        "{reason}"
    );
}

#[test]
fn a_denial_by_the_policy_during_the_wait_is_recorded() {
    let client = Client::new("");
    let dialog = client.ask("toolu_1", "touch a");
    let request = asked(&client.world, "touch a");
    let policy = client.world.user_policy();
    fs::write(policy, "[permissions]\ndeny = [\"Bash(touch *)\"]\n").unwrap();
    // The hook checks its question again when the store changes, at the latest for the approval.
    answer(&client, &["approve", id(&request)]);
    assert_eq!(hook_output(&end(dialog))["decision"]["behavior"], "deny");
    let log = client.log(&["--json"]);
    let records = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut of_dialog = records.filter(|record| record["event"] == "permission_request");
    assert_eq!(of_dialog.next().map(|record| record["decision"].clone()), Some("deny".into()));
}

/// A payload that does not come from the client itself would show a question of its choice.
///
/// Guards I10.
#[test]
fn a_forged_payload_registers_no_question() {
    let client = Client::new("");
    let payload = client.payload("PermissionRequest", "1", "touch a").to_string();
    let start = Instant::now();
    let output = client.world.run(&["hook", "claude", "--wait=60"], payload.as_bytes());
    assert_eq!((code(&output), stdout(&output)), (0, String::new()));
    assert!(start.elapsed() < Duration::from_secs(30) && pending(&client.world).is_empty());
}

/// The timeout of the agent is never shorter than the wait of the hook.
#[test]
fn init_configures_the_wait_and_keeps_it() {
    let world = World::new();
    for directory in [".claude", ".codex"] {
        fs::create_dir(world.root().join(directory)).unwrap();
    }
    for (words, wait, timeout) in [
        (&["--wait=60"][..], Some(" --wait=60 "), Some(70)),
        (&[], Some(" --wait=60 "), Some(70)),
        (&["--wait"], Some(" --wait=3600 "), Some(3610)),
        (&["--wait=0"], None, None),
    ] {
        let args = [&["init", "claude", "codex", "--from-build"], words].concat();
        let output = world.run(&args, b"");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        for (file, other) in [(".claude/settings.json", Some(10)), (".codex/hooks.json", None)] {
            let text = fs::read_to_string(world.root().join(file)).unwrap();
            let found: Value = serde_json::from_str(&text).unwrap();
            let hook = &found["hooks"]["PermissionRequest"][0]["hooks"][0];
            let command = hook["command"].as_str().unwrap();
            assert_eq!(command.contains("--wait"), wait.is_some(), "{command}");
            assert!(command.contains(wait.unwrap_or(" hook ")), "{command}");
            assert_eq!(hook["timeout"].as_u64(), timeout.or(other), "{words:?}: {text}");
        }
        let checked = stdout(&world.run(&["doctor", "--json"], b""));
        assert!(!checked.contains("short_timeout"), "{checked}");
        assert!(!checked.contains("hook_untrusted"), "{checked}");
        assert!(!checked.contains("no_answer"), "{checked}");
    }
}
