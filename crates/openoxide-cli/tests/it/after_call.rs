//! What Claude Code reports about a call after a person has answered its own dialog. The test is the
//! client: its hooks read their payload from a pair of sockets, as those of Claude Code do.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::Shutdown,
    os::{
        fd::OwnedFd,
        unix::{
            fs::{MetadataExt as _, symlink},
            net::UnixStream,
        },
    },
    process::{Command, Output, Stdio},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::support::{OPENOXIDE, World, stderr, stdout};

/// The payload of an event about a Bash call, as Claude Code 2.1.330 sends it.
pub(crate) fn payload(world: &World, event: &str, id: &str, command: &str) -> Value {
    json!({
        "session_id": "c6dc", "transcript_path": "/x.jsonl", "cwd": world.project(),
        "prompt_id": "87e7", "permission_mode": "default", "hook_event_name": event,
        "tool_name": "Bash", "tool_input": { "command": command, "description": id },
        "tool_use_id": id,
    })
}

/// The payload of a call that has ended successfully.
fn ended(world: &World, id: &str, command: &str) -> Value {
    let mut message = payload(world, "PostToolUse", id, command);
    message["tool_response"] = json!({ "stdout": "", "stderr": "", "interrupted": false });
    message["duration_ms"] = json!(397);
    message
}

/// Sends a payload as the client does.
fn send(world: &World, payload: &Value) -> Output {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut hook = world.command(&["hook", "claude"]);
    hook.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = hook.spawn().unwrap();
    drop(hook);
    ours.write_all(payload.to_string().as_bytes()).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    output
}

pub(crate) fn decision(output: &Output) -> String {
    let found: Value = serde_json::from_str(&stdout(output)).unwrap();
    found["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

/// Decides a call as the client's hook.
fn decide(world: &World, id: &str, command: &str) -> String {
    decision(&send(world, &payload(world, "PreToolUse", id, command)))
}

/// Makes a call, and lets a person approve it in the client's dialog.
fn approve(world: &World, id: &str, command: &str) {
    assert_eq!(decide(world, id, command), "ask", "{command}");
    let mut request = payload(world, "PermissionRequest", id, command);
    request.as_object_mut().unwrap().remove("tool_use_id");
    assert_eq!(stdout(&send(world, &request)), "", "the question is left to the person");
    assert_eq!(stdout(&send(world, &ended(world, id, command))), "");
}

fn journal(world: &World) -> Vec<Value> {
    let output = world.run(&["audit", "log", "--all-records", "--json"], b"");
    let text = stdout(&output);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn an_identical_call_is_not_asked_about_again() {
    let world = World::new();
    approve(&world, "1", "touch a");
    assert_eq!(decide(&world, "2", "touch a"), "allow");
    assert_eq!(decide(&world, "3", "touch b"), "ask", "another call");
    assert_eq!(decide(&world, "4", "touch a; touch b"), "ask");
    let other = |key: &str, value: Value| {
        let mut call = payload(&world, "PreToolUse", "5", "touch a");
        call[key] = value;
        decision(&send(&world, &call))
    };
    assert_eq!(other("session_id", json!("dddd")), "ask", "another session");
    fs::create_dir(world.project().join("sub")).unwrap();
    assert_eq!(other("cwd", json!(world.project().join("sub"))), "ask", "another directory");
}

#[test]
fn another_directory_at_the_same_path_is_asked_about_again() {
    let world = World::new();
    let at = |name: &str| world.project().join(name);
    let call = |event: &str, id: &str| {
        let mut call = payload(&world, event, id, "touch a");
        call["cwd"] = json!(at("link"));
        call
    };
    fs::create_dir(at("one")).unwrap();
    fs::create_dir(at("two")).unwrap();
    symlink(at("one"), at("link")).unwrap();
    assert_eq!(decision(&send(&world, &call("PreToolUse", "1"))), "ask");
    send(&world, &call("PostToolUse", "1"));
    assert_eq!(decision(&send(&world, &call("PreToolUse", "2"))), "allow");
    fs::remove_file(at("link")).unwrap();
    symlink(at("two"), at("link")).unwrap();
    assert_eq!(decision(&send(&world, &call("PreToolUse", "3"))), "ask", "a link to another one");
    fs::remove_file(at("link")).unwrap();
    fs::create_dir(at("link")).unwrap();
    assert_eq!(decision(&send(&world, &call("PreToolUse", "4"))), "ask", "a new directory");
}

/// An MCP server reads what the client sends it, and can pass the rest on to a hook that it starts.
#[test]
fn a_report_through_an_older_process_of_the_client_approves_nothing() {
    let world = World::new();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let mut server = Command::new("sh");
    server.args(["-c", "read -r first; \"$0\" hook claude", OPENOXIDE]);
    server.envs(world.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut server = server.stdin(OwnedFd::from(theirs)).spawn().unwrap();
    // The start of a process is known in ticks of 10 ms.
    thread::sleep(Duration::from_millis(50));
    assert_eq!(decide(&world, "1", "touch a"), "ask");
    write!(ours, "first\n{}", ended(&world, "1", "touch a")).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    assert!(server.wait().unwrap().success());
    assert_eq!(decide(&world, "2", "touch a"), "ask");
    approve(&world, "3", "touch a");
    assert_eq!(decide(&world, "4", "touch a"), "allow", "a report of the client itself");
}

#[test]
fn an_approval_does_not_apply_if_the_agent_answers_its_own_questions() {
    let world = World::new();
    approve(&world, "1", "touch a");
    for (mode, expected) in [("default", "allow"), ("plan", "deny"), ("auto", "ask")] {
        let mut call = payload(&world, "PreToolUse", mode, "touch a");
        call["permission_mode"] = json!(mode);
        assert_eq!(decision(&send(&world, &call)), expected, "{mode}");
    }
}

#[test]
fn a_call_that_did_not_run_is_asked_about_again() {
    let world = World::new();
    assert_eq!(decide(&world, "1", "touch a"), "ask");
    assert_eq!(decide(&world, "2", "touch a"), "ask");
}

#[test]
fn a_report_about_another_input_approves_nothing() {
    let world = World::new();
    assert_eq!(decide(&world, "1", "touch a"), "ask");
    send(&world, &ended(&world, "1", "touch b"));
    assert_eq!(decide(&world, "2", "touch a"), "ask");
    assert_eq!(decide(&world, "3", "touch b"), "ask");
}

#[test]
fn an_agent_that_answers_its_own_questions_approves_nothing() {
    let world = World::new();
    for mode in ["auto", "bypassPermissions", "dontAsk"] {
        let mut call = payload(&world, "PreToolUse", mode, "touch a");
        call["permission_mode"] = json!(mode);
        send(&world, &call);
        let mut report = ended(&world, mode, "touch a");
        report["permission_mode"] = json!(mode);
        send(&world, &report);
        assert_eq!(decide(&world, "1", "touch a"), "ask", "{mode}");
    }
}

/// Guards I10.
#[test]
fn what_may_not_be_remembered_is_asked_about_again() {
    let world = World::new().policy(
        "[[permissions.rule]]\npermission = \"bash\"\npattern = \"touch human\"\naction = \"ask\"\n\
         reviewer = \"human\"\n",
    );
    fs::write(world.project().join(".env"), "S=1\n").unwrap();
    for (id, command) in [
        "cat .env",
        "touch human",
        "echo x > .git/hooks/pre-commit",
        "eval \"$X\"",
        "rm -rf ~",
        "openoxide approve 7",
    ]
    .iter()
    .enumerate()
    {
        approve(&world, &format!("a{id}"), command);
        assert_eq!(decide(&world, &format!("b{id}"), command), "ask", "{command}");
    }
}

/// A deny that is added later is final.
#[test]
fn an_approval_does_not_override_a_deny() {
    let world = World::new();
    approve(&world, "1", "touch a");
    fs::write(world.user_policy(), "[permissions]\ndeny = [\"Bash(touch *)\"]\n").unwrap();
    assert_eq!(decide(&world, "2", "touch a"), "deny");
    fs::write(world.user_policy(), "[permissions]\nask = [\"Bash(touch\"]\n").unwrap();
    assert_eq!(decide(&world, "3", "touch a"), "ask", "a policy with an error");
}

/// The programs have all rights of their user and know the whole payload.
///
/// Guards I10.
#[test]
fn a_forged_report_from_another_process_gains_nothing() {
    let world = World::new();
    let sender = "import socket, subprocess, sys\n\
        program, *messages = sys.argv[1:]\n\
        for message in messages:\n\
        \x20   ours, theirs = socket.socketpair()\n\
        \x20   hook = subprocess.Popen([program, 'hook', 'claude'], stdin=theirs)\n\
        \x20   theirs.close(); ours.sendall(message.encode()); ours.shutdown(socket.SHUT_WR)\n\
        \x20   hook.wait()\n";
    let forge = |messages: &[Value]| {
        let mut python = Command::new("python3");
        python.args(["-c", sender, OPENOXIDE]).args(messages.iter().map(Value::to_string));
        python.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", world.root());
        python.env("XDG_CONFIG_HOME", world.root().join("config"));
        assert!(python.current_dir(world.project()).output().unwrap().status.success());
    };
    // The agent asks, the person answers no, and the agent's program claims that the call has run.
    assert_eq!(decide(&world, "1", "touch a"), "ask");
    forge(&[ended(&world, "1", "touch a")]);
    let pipe = world.run(&["hook", "claude"], ended(&world, "1", "touch a").to_string().as_bytes());
    assert!(pipe.status.success());
    assert_eq!(decide(&world, "2", "touch a"), "ask");
    // It plays the whole conversation.
    forge(&[payload(&world, "PreToolUse", "3", "touch a"), ended(&world, "3", "touch a")]);
    for message in [payload(&world, "PreToolUse", "4", "touch a"), ended(&world, "4", "touch a")] {
        world.run(&["hook", "claude"], message.to_string().as_bytes());
    }
    assert_eq!(decide(&world, "5", "touch a"), "ask");
    // It announces the call that the client has announced once more.
    assert_eq!(decide(&world, "6", "touch a"), "ask");
    forge(&[payload(&world, "PreToolUse", "6", "touch a"), ended(&world, "6", "touch a")]);
    assert_eq!(decide(&world, "7", "touch a"), "ask");
    // No answer was recorded for the calls of the client, because its person has answered none.
    let records = journal(&world);
    let answered = records.iter().filter(|record| record["answer"]["channel"] == "agent");
    let answered: Vec<_> = answered.map(|record| record["decision_seq"].clone()).collect();
    let of_client = records.iter().filter(|record| record["call"] == "1");
    let of_client: Vec<_> = of_client.map(|record| record["seq"].clone()).collect();
    assert!(of_client.len() == 1 && !answered.contains(&of_client[0]), "{answered:?}");
    // The report of the client itself has its effect.
    send(&world, &ended(&world, "6", "touch a"));
    assert_eq!(decide(&world, "8", "touch a"), "allow");
}

#[test]
fn an_approval_in_a_file_that_was_edited_gains_nothing() {
    let world = World::new();
    approve(&world, "1", "touch a");
    let sessions = world.root().join(".local/state/openoxide/sessions");
    let file = fs::read_dir(sessions).unwrap().next().unwrap().unwrap().path();
    let mut text = String::new();
    fs::File::open(&file).unwrap().read_to_string(&mut text).unwrap();
    fs::write(&file, text.replace("\"mac\":\"", "\"mac\":\"00")).unwrap();
    assert_eq!(decide(&world, "2", "touch a"), "ask");
}

/// The call is one entry: who answered, how long it took, and how it ended.
#[test]
fn the_log_has_one_entry_with_the_answer_and_the_end() {
    let world = World::new();
    approve(&world, "1", "touch a");
    let shown = stdout(&world.run(&["audit", "log"], b""));
    assert_eq!(shown.matches("Bash  touch a").count(), 1, "{shown}");
    for part in ["ask, approved", "answered in the agent's dialog, after ", "exit 0 after 0.397 s"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert_eq!(decide(&world, "2", "touch a"), "allow");
    let mut failed = ended(&world, "2", "touch a");
    failed["hook_event_name"] = json!("PostToolUseFailure");
    failed["error"] = json!("Exit code 3");
    send(&world, &failed);
    let shown = stdout(&world.run(&["audit", "log"], b""));
    assert!(shown.contains("you approved the same call earlier in this session"), "{shown}");
    assert!(shown.contains("exit 3 after 0.397 s"), "{shown}");
    assert_eq!(shown.matches("Bash  touch a").count(), 2, "{shown}");
    let verified = world.run(&["audit", "verify"], b"");
    assert!(verified.status.success(), "{}", stdout(&verified));
}

/// The client runs it under its own rules. The hook gives no answer.
#[test]
fn a_call_that_is_left_to_the_rules_of_the_client_is_one_entry() {
    let world = World::new();
    fs::create_dir(world.root().join(".claude")).unwrap();
    let settings = world.root().join(".claude/settings.json");
    fs::write(settings, r#"{"permissions": {"allow": ["Bash(npm run *)"]}}"#).unwrap();
    world.file("package.json", r#"{"scripts": {"build": "true"}}"#);
    let answer = send(&world, &payload(&world, "PreToolUse", "1", "npm run build"));
    assert_eq!(stdout(&answer), "");
    assert_eq!(stdout(&send(&world, &ended(&world, "1", "npm run build"))), "");
    let shown = stdout(&world.run(&["audit", "log"], b""));
    assert_eq!(shown.matches("Bash  npm run build").count(), 1, "{shown}");
    for part in ["allow", "/.claude/settings.json:1", "exit 0 after 0.397 s"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(!shown.contains("answered in the agent's dialog"), "no person was asked: {shown}");
    // An ask rule of the client: its dialog shows the question, and a person answers.
    let mut request = payload(&world, "PermissionRequest", "2", "npm run build");
    assert_eq!(stdout(&send(&world, &payload(&world, "PreToolUse", "2", "npm run build"))), "");
    request.as_object_mut().unwrap().remove("tool_use_id");
    assert_eq!(stdout(&send(&world, &request)), "", "the question is left to the person");
    send(&world, &ended(&world, "2", "npm run build"));
    let shown = stdout(&world.run(&["audit", "log"], b""));
    assert_eq!(shown.matches("Bash  npm run build").count(), 2, "{shown}");
}

#[test]
fn the_approval_of_one_call_does_not_approve_another_that_the_same_rule_matches() {
    let world = World::new();
    let suggested = || {
        let output = world.run(&["rules", "suggest", "--json"], b"");
        let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
        found["rules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|rule| rule["rule"].clone())
            .collect::<Vec<_>>()
    };
    let (none, rule): (Vec<Value>, _) = (Vec::new(), vec![json!("Bash(make lint *)")]);
    approve(&world, "1", "make lint");
    assert_eq!(suggested(), rule);
    // The person may have denied it: its end is not reported.
    assert_eq!(decide(&world, "2", "make lint DESTDIR=/"), "ask");
    assert_eq!(suggested(), none);
    approve(&world, "3", "make lint DESTDIR=/");
    assert_eq!(suggested(), rule);
}

/// A pair of sockets belongs to the process that made it, not to a later one with the same ID.
#[test]
fn a_report_through_the_socket_of_an_ended_process_approves_nothing() {
    if !is_root() {
        return;
    }
    let world = World::new();
    let run = |is_own: &str| {
        let call = payload(&world, "PreToolUse", "1", "touch a").to_string();
        let mut client = Command::new("unshare");
        client.args(["-p", "-f", "--mount-proc", "python3", "-c", include_str!("after_call.py")]);
        client.args([OPENOXIDE, &call, &ended(&world, "1", "touch a").to_string(), is_own]);
        for (name, value) in world.command(&[]).get_envs() {
            value.map(|value| client.env(name, value));
        }
        let output = client.current_dir(world.project()).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output).lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(run("stolen"), ["same ID", "ask", "ask"]);
    assert_eq!(run("own"), ["same ID", "ask", "allow"], "the test can fail");
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}
