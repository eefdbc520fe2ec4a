//! `[audit] required = true`, from outside: what cannot be written down is asked about.

use std::{
    fs::{self, File},
    io::Write as _,
    process::{Command, Output, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    prompt::Terminal,
    support::{OPENOXIDE, World, code, stderr, stdout},
};

const REQUIRED: &str = "[audit]\nrequired = true\n";
const RULES: &str =
    "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(touch denied*)\"]\n";
const WHY: &str = "the policy requires an audit record, but writing it failed: ";
/// No directory can be made there.
const NOWHERE: &str = "/dev/null/x";

fn world() -> World {
    World::new().policy(&format!("{REQUIRED}{RULES}"))
}

fn payload(world: &World, event: &str, mode: &str, script: &str) -> Vec<u8> {
    json!({
        "session_id": "c6dc", "cwd": world.project(), "permission_mode": mode,
        "hook_event_name": event, "tool_name": "Bash", "tool_input": { "command": script },
    })
    .to_string()
    .into_bytes()
}

fn fed(mut command: Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

/// Returns what a hook answers: the decision and its reason.
fn answered(world: &World, command: Command, mode: &str, script: &str) -> (String, String) {
    let output = fed(command, &payload(world, "PreToolUse", mode, script));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let text = |key: &str| found["hookSpecificOutput"][key].as_str().unwrap().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

fn unwritable(world: &World, args: &[&str]) -> Command {
    let mut command = world.command(args);
    command.env("XDG_STATE_HOME", NOWHERE);
    command
}

/// Returns a command that runs with a limit on the file size, which simulates a full disk.
fn on_a_full_disk(world: &World, args: &str) -> Command {
    let usual = world.command(&[]);
    let mut command = Command::new("bash");
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {OPENOXIDE} {args}");
    command.args(["-c", &script]).current_dir(world.project()).env_clear();
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command
}

fn hook(world: &World, command: Command, script: &str) -> String {
    let (decision, reason) = answered(world, command, "default", script);
    assert_eq!(decision == "ask", reason.contains(WHY), "{decision}: {reason}");
    decision
}

/// Guards I28.
#[test]
fn an_operation_that_cannot_be_recorded_asks() {
    let world = world();
    assert_eq!(hook(&world, world.command(&["hook", "claude"]), "touch a"), "allow");
    assert_eq!(hook(&world, unwritable(&world, &["hook", "claude"]), "touch a"), "ask");
    assert_eq!(hook(&world, unwritable(&world, &["hook", "claude"]), "touch denied"), "deny");
    // In `dontAsk` mode no person is asked. In `bypassPermissions` mode everything is allowed
    // except the calls that must be asked about.
    for (mode, expected) in [("dontAsk", "deny"), ("bypassPermissions", "ask")] {
        let (decision, reason) =
            answered(&world, unwritable(&world, &["hook", "claude"]), mode, "touch a");
        assert_eq!(decision, expected, "{mode}: {reason}");
    }
    let asked = payload(&world, "PermissionRequest", "default", "touch a");
    assert_eq!(stdout(&fed(unwritable(&world, &["hook", "claude"]), &asked)), "");
}

/// Guards I28.
#[test]
fn a_full_disk_or_an_unusable_journal_does_not_allow() {
    let world = world();
    assert_eq!(hook(&world, world.command(&["hook", "claude"]), "touch a"), "allow");
    assert_eq!(hook(&world, on_a_full_disk(&world, "hook claude"), "touch a"), "ask");
    assert_eq!(hook(&world, world.command(&["hook", "claude"]), "touch a"), "allow");
    let journal = world.root().join(".local/state/openoxide/audit/journal.ndjson");
    let mut newer = File::options().append(true).open(journal).unwrap();
    newer.write_all(b"{\"schema\":2,\"x\":1}\n").unwrap();
    assert_eq!(hook(&world, world.command(&["hook", "claude"]), "touch a"), "ask");
}

#[test]
fn a_run_without_a_record_needs_approval() {
    let world = world();
    let run = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().unwrap();
        (code(&output), stderr(&output))
    };
    let (status, said) = run(&mut unwritable(&world, &["run", "-c", "touch a"]));
    assert_eq!((status, said.contains(WHY)), (4, true), "{said}");
    let (status, said) =
        run(&mut unwritable(&world, &["run", "--mode", "dont_ask", "-c", "touch a"]));
    assert_eq!((status, said.contains(WHY)), (126, true), "{said}");
    drop(world.run(&["run", "-c", "touch denied"], b""));
    let (status, said) = run(&mut on_a_full_disk(&world, "run -c 'touch a'"));
    assert_eq!((status, said.contains(WHY)), (4, true), "{said}");
    assert!(!world.project().join("a").exists());
    assert_eq!(code(&world.run(&["run", "-c", "touch a"], b"")), 0);
}

/// Presses a key at each question after its reason is shown. Returns the exit code and the screen.
fn at_the_terminal(world: &World, script: &str, keys: &[&str]) -> (u32, String) {
    let path = |name: &str| world.root().join(name).display().to_string();
    let environment = [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", world.root().display().to_string()),
        ("XDG_CONFIG_HOME", path("config")),
        ("XDG_STATE_HOME", NOWHERE.to_owned()),
    ];
    let mut terminal = Terminal::start(world, OPENOXIDE, &["run", "-c", script], &environment);
    for (at, key) in keys.iter().enumerate() {
        let last = at + 1 == keys.len();
        terminal.wait_for(if last { "requires an audit record" } else { "[y]" });
        std::thread::sleep(Duration::from_millis(700));
        terminal.press(key);
    }
    terminal.end()
}

#[test]
fn a_person_is_asked_whether_it_shall_run_unwritten() {
    let world = world();
    let (code, text) = at_the_terminal(&world, "touch a", &["y"]);
    assert_eq!((code, world.project().join("a").exists()), (0, true), "{text}");
    assert!(!text.contains("[p]"), "nothing of it can be kept: {text}");
    let (code, text) = at_the_terminal(&world, "touch b", &["n"]);
    assert_eq!((code, world.project().join("b").exists()), (126, false), "{text}");
    // An approval does not cover a missing record unless the question mentions it.
    let (code, text) = at_the_terminal(&world, "make b", &["y", "n"]);
    assert_eq!(code, 126, "{text}");
}

/// Guards I28.
#[test]
fn any_layer_demands_it_and_none_takes_it_away() {
    let off = "[audit]\nrequired = false\n";
    for (user, project, local, expected) in [
        (RULES.to_owned(), "", "", "allow"),
        (RULES.to_owned(), off, off, "allow"),
        (RULES.to_owned(), REQUIRED, off, "ask"),
        (RULES.to_owned(), "", REQUIRED, "ask"),
        (format!("{REQUIRED}{RULES}"), off, off, "ask"),
    ] {
        let world = World::new().policy(&user);
        fs::create_dir(world.project().join(".openoxide")).unwrap();
        world.file(".openoxide/policy.toml", project);
        world.file(".openoxide/local.toml", local);
        let found = hook(&world, unwritable(&world, &["hook", "claude"]), "touch a");
        assert_eq!(found, expected, "{user} {project} {local}");
    }
}

#[test]
fn the_compiled_policy_demands_it_too() {
    let world = world();
    // A file that has just changed is not kept.
    std::thread::sleep(Duration::from_millis(2_100));
    assert_eq!(hook(&world, world.command(&["hook", "claude"]), "touch a"), "allow");
    assert_eq!(fs::read_dir(world.root().join("cache/openoxide")).unwrap().count(), 1);
    assert_eq!(hook(&world, on_a_full_disk(&world, "hook claude"), "touch a"), "ask");
}

#[test]
fn check_and_explain_show_the_obligation_and_write_nothing() {
    let world = world();
    let look = |args: &[&str]| {
        let output = unwritable(&world, args).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    let found: Value = serde_json::from_str(&look(&["check", "--json", "-c", "touch a"])).unwrap();
    assert_eq!(found["obligations"], json!(["audit"]));
    let place = format!(
        "requires approval if no audit record can be written ({}:2)",
        world.user_policy().display()
    );
    assert!(look(&["explain", "-c", "touch a"]).contains(&place));
    assert_eq!(look(&["rules", "lint"]), "");
}

#[test]
fn an_invalid_audit_setting_is_reported_with_its_line() {
    for (text, wrong) in [
        ("audit = true\n", "`audit` must be a table"),
        ("[audit]\nrequired = \"yes\"\n", "write `true` or `false`"),
        ("[audit]\nrequire = true\n", "unknown key `require`"),
    ] {
        let world = World::new().policy(&format!("{text}{RULES}"));
        let output = world.run(&["check", "-c", "touch a"], b"");
        let said = stderr(&output);
        assert_eq!((code(&output), said.contains(wrong)), (2, true), "{said}");
        let (decision, _) =
            answered(&world, world.command(&["hook", "claude"]), "default", "touch a");
        assert_eq!(decision, "ask", "it may have been demanded");
    }
}

#[test]
fn a_difference_and_a_loss_of_the_demand_are_shown() {
    let world = World::new();
    let (old, new) =
        (world.file("old.toml", RULES), world.file("new.toml", &format!("{REQUIRED}{RULES}")));
    let output = world.run(&["rules", "diff", &old, &new], b"");
    assert_eq!(
        (code(&output), stdout(&output).as_str()),
        (1, "~ audit: not required -> required\n")
    );
    let output = world.run(&["rules", "export", &new, "--format", "claude"], b"");
    assert_eq!((code(&output), stdout(&output).as_str()), (1, ""), "{}", stderr(&output));
}
