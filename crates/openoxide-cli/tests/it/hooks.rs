//! Hooks from outside: programs that are asked before the rules, in `run` and in an agent's hook.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use serde_json::{Value, json};

use crate::{
    prompt::Terminal,
    support::{World, code, stderr, stdout, workspace},
};

fn payload(world: &World, event: &str, command: &str) -> Vec<u8> {
    json!({
        "session_id": "c6dc", "cwd": world.project(), "permission_mode": "default",
        "hook_event_name": event, "tool_name": "Bash",
        "tool_input": { "command": command }, "tool_use_id": "toolu_1",
    })
    .to_string()
    .into_bytes()
}

/// Returns what the client would read: the decision and its reason.
fn answer(world: &World, command: &str) -> (String, String) {
    let output = world.run(&["hook", "claude"], &payload(world, "PreToolUse", command));
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let text = |key: &str| found["hookSpecificOutput"][key].as_str().unwrap().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

fn decision(world: &World, command: &str) -> String {
    answer(world, command).0
}

/// Returns a script that answers so.
fn says(word: &str) -> String {
    format!(
        r#"echo '{{"hookSpecificOutput":{{"hookEventName":"PreToolUse","permissionDecision":"{word}","permissionDecisionReason":"so it is"}}}}'"#
    )
}

fn hook(script: &str) -> String {
    let (event, command) = ("pre_tool_use", json!(script));
    format!(
        "[[hooks]]\nevent = \"{event}\"\nmatcher = \"Bash\"\ncommand = {command}\ntimeout = 20\n"
    )
}

const RULES: &str = r#"[permissions]
allow = ["Bash(touch *)"]
ask = ["Bash(git push *)"]
deny = ["Bash(rm *)"]
[[permissions.rule]]
permission = "bash"
pattern = "deploy *"
action = "ask"
reviewer = "human"
"#;

fn world(script: &str) -> World {
    World::new().policy(&format!("{RULES}{}", hook(script)))
}

#[test]
fn a_hook_is_asked_before_the_rules_and_cannot_lift_a_deny() {
    let commands = ["touch a", "git push x", "npm publish", "rm a", "deploy a", "echo x > .bashrc"];
    let rows = [
        ("true".to_owned(), ["allow", "ask", "ask", "deny", "ask", "ask"]),
        (says("allow"), ["allow", "allow", "allow", "deny", "ask", "ask"]),
        (says("ask"), ["ask", "ask", "ask", "deny", "ask", "ask"]),
        (says("deny"), ["deny"; 6]),
        ("exit 2".to_owned(), ["deny"; 6]),
        ("exit 1".to_owned(), ["ask", "ask", "ask", "deny", "ask", "ask"]),
        ("echo junk".to_owned(), ["ask", "ask", "ask", "deny", "ask", "ask"]),
    ];
    for (script, expected) in rows {
        let world = world(&script);
        for (command, expected) in commands.iter().zip(expected) {
            assert_eq!(decision(&world, command), expected, "{script}: {command}");
        }
    }
}

#[test]
fn the_reason_and_the_audit_name_the_hook() {
    let world = world(&format!("{} # Authorization: Bearer hunter2hunter2", says("deny")));
    let place = format!("`hook echo`, {}:10", world.user_policy().display());
    let (found, reason) = answer(&world, "npm publish");
    assert_eq!(found, "deny");
    assert_eq!(reason, format!("OpenOxide: hook echo denies it: so it is ({place})"));
    let output = world.run(&["run", "-c", "touch a"], b"");
    assert_eq!(code(&output), 126);
    assert!(stderr(&output).contains("hook echo denies it: so it is"), "{}", stderr(&output));
    assert!(!world.project().join("a").exists());
    let output = world.run(&["audit", "log", "--json"], b"");
    let name =
        json!({ "layer": "user", "file": world.user_policy(), "line": 10, "text": "hook echo" });
    let said = json!([{ "hook": name, "hook_decision": "deny", "reason": "so it is" }]);
    for line in stdout(&output).lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        assert_eq!((&record["hooks"], &record["rule"]), (&said, &name), "{record}");
        assert!(!line.contains("hunter2"), "{line}");
    }
    assert_eq!(stdout(&output).lines().count(), 2);
}

#[test]
fn hook_decisions_are_recorded_even_if_a_rule_decides() {
    let world = world("echo \"password=hunter2hunter2\" >&2; exit 1");
    assert_eq!(decision(&world, "rm a"), "deny");
    let log = stdout(&world.run(&["audit", "log", "--json"], b""));
    let record: Value = serde_json::from_str(&log).unwrap();
    assert_eq!(record["rule"]["text"], "deny Bash(rm *)");
    assert_eq!(record["hooks"][0]["hook_decision"], "failed");
    let reason = record["hooks"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("exit status 1: password="), "{reason}");
    assert!(!log.contains("hunter2"), "{log}");
    let shown = stdout(&world.run(&["audit", "log"], b""));
    assert!(shown.contains("hook echo: failed: exit status 1: password="), "{shown}");
}

#[test]
fn run_asks_hooks_and_applies_their_decisions() {
    let allows = world(&says("allow"));
    let output = allows.run(&["run", "-c", "mkdir made"], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(allows.project().join("made").exists());
    let asks = world(&says("ask"));
    let output = asks.run(&["run", "-c", "touch a"], b"");
    assert_eq!(code(&output), 4, "nobody can be asked");
    assert!(!asks.project().join("a").exists());
    let output = asks.run(&["run", "--mode", "dont_ask", "-c", "touch a"], b"");
    assert_eq!(code(&output), 126, "nobody may be asked");
}

#[test]
fn a_hooks_question_is_asked_each_time() {
    let world = world(&says("ask"));
    for _ in 0..2 {
        let mut terminal = Terminal::run(&world, &["run", "-c", "touch a"]);
        terminal.wait_for("hook echo asks: so it is");
        terminal.wait_for("[y]");
        terminal.press("y");
        let (code, text) = terminal.end();
        assert_eq!(code, 0, "{text}");
        assert!(!text.contains("[p]"), "nothing is remembered: {text}");
    }
    assert!(world.project().join("a").exists());
}

#[test]
fn a_permission_request_does_not_pass_by_a_hooks_question() {
    let ask = |script: &str| {
        let world = world(script);
        let input = payload(&world, "PermissionRequest", "touch a");
        stdout(&world.run(&["hook", "claude"], &input))
    };
    assert!(ask("true").contains(r#""behavior":"allow""#));
    assert_eq!(ask(&says("ask")), "");
    assert!(ask("exit 2").contains(r#""behavior":"deny""#));
}

#[test]
fn only_run_and_the_agent_hook_run_hooks() {
    let world = world("touch ran");
    let check = world.run(&["check", "-c", "touch a"], b"");
    assert_eq!(code(&check), 0);
    let explained = world.run(&["explain", "-c", "touch a"], b"");
    let line = format!("  \"touch ran\" (user, {}:10)\n", world.user_policy().display());
    assert!(stdout(&explained).contains(&line), "{}", stdout(&explained));
    let read = ["explain", "--tool", "Read", "--input", r#"{"file_path":"a"}"#];
    assert!(!stdout(&world.run(&read, b"")).contains("touch ran"));
    let explained = world.run(&["explain", "--json", "-c", "touch a"], b"");
    let explained: Value = serde_json::from_str(&stdout(&explained)).unwrap();
    assert_eq!(explained["hooks"][0]["line"], 10);
    assert_eq!(explained["hooks"][0]["command"], "\"touch ran\"");
    assert!(!world.project().join("ran").exists());
    assert_eq!(decision(&world, "touch a"), "allow");
    assert!(world.project().join("ran").exists());
}

#[test]
fn hooks_of_hooks_are_a_question() {
    let own = env!("CARGO_BIN_EXE_openoxide");
    let world = world(&format!("{own} run -c 'touch inner'; echo $? >> codes"));
    assert_eq!(decision(&world, "touch a"), "allow");
    assert_eq!(fs::read_to_string(world.project().join("codes")).unwrap(), "4\n");
    assert!(!world.project().join("inner").exists());
}

#[test]
fn a_project_hook_applies_once_it_and_its_script_are_trusted() {
    let world = World::new();
    let script = world.project().join(".openoxide/guard.sh");
    fs::create_dir(world.project().join(".openoxide")).unwrap();
    fs::write(&script, "touch ran\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let text =
        hook(&format!("bash \"$CLAUDE_PROJECT_DIR\"/.openoxide/guard.sh; {}", says("allow")));
    fs::write(world.project().join(".openoxide/policy.toml"), text).unwrap();
    let ran = || fs::remove_file(world.project().join("ran")).is_ok();
    assert_eq!((decision(&world, "make x").as_str(), ran()), ("ask", false));
    let mut terminal = Terminal::run(&world, &["trust"]);
    terminal.wait_for("[y]");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("hook pre_tool_use Bash"), "{text}");
    assert_eq!((decision(&world, "make x").as_str(), ran()), ("allow", true));
    fs::write(&script, "touch ran; echo evil\n").unwrap();
    assert_eq!((decision(&world, "make x").as_str(), ran()), ("ask", false));
}

#[test]
fn a_wrong_hook_is_an_error_with_its_place_and_allows_nothing() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(touch *)\"]\n[[hooks]]\nevent = \"pre_tool_use\"\ncomand = \"x\"\n");
    let output = world.run(&["check", "-c", "touch a"], b"");
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).starts_with("ask: "), "{}", stdout(&output));
    assert!(stderr(&output).contains("policy.toml:5"), "{}", stderr(&output));
    assert!(stderr(&output).contains("unknown key `comand`"), "{}", stderr(&output));
    assert_eq!(decision(&world, "touch a"), "ask");
}

/// Returns the block of a document that is written in this language.
fn block<'a>(document: &'a str, language: &str) -> &'a str {
    let (_, behind) = document.split_once(&format!("```{language}\n")).unwrap();
    behind.split_once("```").unwrap().0
}

#[test]
fn the_example_in_the_documentation_works() {
    if Command::new("python3").arg("--version").output().is_err() {
        return; // The example is in Python.
    }
    let document = fs::read_to_string(workspace().join("docs/hooks.md")).unwrap();
    let world = World::new().policy(block(&document, "toml"));
    let place = world.root().join(".config/openoxide");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("guard.py"), block(&document, "python")).unwrap();
    for (command, expected) in [
        ("git commit --no-verify -m x", "deny"),
        ("make test", "allow"),
        ("make install", "ask"),
        ("git status", "allow"),
    ] {
        assert_eq!(decision(&world, command), expected, "{command}");
    }
    assert!(answer(&world, "make test").1.contains("tests may run"));
}

/// Returns whether a process is gone or is a zombie.
fn is_gone(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z'))
}

fn soon(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !is_so() {
        assert!(start.elapsed() < std::time::Duration::from_secs(10), "{what}");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Writes down who it and its child are, and never ends.
const ENDLESS: &str = "sleep 600 & echo $$ $! >> pids; wait";

/// Returns the processes of a hook, once it runs.
fn running(world: &World) -> Vec<String> {
    let read = || fs::read_to_string(world.project().join("pids")).unwrap_or_default();
    soon("the hook did not start", || read().ends_with('\n'));
    read().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn ctrl_c_ends_hooks_and_all_that_they_started_and_nothing_runs() {
    let world = world(ENDLESS);
    let mut terminal = Terminal::run(&world, &["run", "-c", "touch a"]);
    let pids = running(&world);
    assert_eq!(pids.len(), 2);
    terminal.press("\x03");
    let (code, text) = terminal.end();
    assert_eq!((code, text.contains("interrupted; nothing was run")), (130, true), "{text}");
    assert!(!world.project().join("a").exists());
    soon("a hook goes on", || pids.iter().all(|pid| is_gone(pid)));
}

#[test]
fn an_agents_hook_that_is_ended_ends_its_hooks_and_blocks_the_call() {
    let world = world(ENDLESS);
    let mut command = world.command(&["hook", "claude"]);
    command.stdin(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, &payload(&world, "PreToolUse", "touch a")).unwrap();
    drop(stdin);
    let pids = running(&world);
    let ended = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(ended.success());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""), "{}", stderr(&output));
    soon("a hook goes on", || pids.iter().all(|pid| is_gone(pid)));
}
