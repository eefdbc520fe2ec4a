//! The hooks of a Claude Code `settings.json` that is used as a layer, as real programs.

use std::fs;

use serde_json::{Value, json};

use crate::{
    prompt::Terminal,
    support::{OPENOXIDE, World, code, stderr, stdout},
};

/// Returns settings with these scripts as hooks of an event.
fn settings(event: &str, scripts: &[&str]) -> Value {
    let hook = |script: &&str| json!({ "type": "command", "command": script, "timeout": 20 });
    let hooks: Vec<Value> = scripts.iter().map(hook).collect();
    let permissions =
        json!({ "allow": ["Bash(touch *)"], "ask": ["Bash(mkdir *)"], "deny": ["Bash(rm *)"] });
    json!({ "permissions": permissions, "hooks": { event: [{ "matcher": "Bash", "hooks": hooks }] } })
}

/// Writes the person's own settings, which do not require trust.
fn own(world: &World, settings: &Value) -> String {
    fs::create_dir_all(world.root().join(".claude")).unwrap();
    let path = world.root().join(".claude/settings.json");
    fs::write(&path, settings.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Writes the settings of the project.
fn of_the_project(world: &World, settings: &Value) -> String {
    fs::create_dir_all(world.project().join(".claude")).unwrap();
    world.file(".claude/settings.json", &settings.to_string())
}

/// Runs a command with these settings. Returns its exit status, where 4 is a question, and its
/// standard error.
fn run(world: &World, file: &str, command: &str) -> (i32, String) {
    let output = world.run(&["run", "--policy", file, "-c", command], b"");
    (code(&output), stderr(&output))
}

fn says(word: &str) -> String {
    let output = json!({ "hookEventName": "PreToolUse", "permissionDecision": word });
    format!("echo '{}'", json!({ "hookSpecificOutput": output }))
}

fn behaves(word: &str) -> String {
    let output = json!({ "hookEventName": "PermissionRequest", "decision": { "behavior": word } });
    format!("echo '{}'", json!({ "hookSpecificOutput": output }))
}

fn vouch(world: &World, file: &str) -> String {
    let mut terminal = Terminal::run(world, &["trust", file]);
    terminal.wait_for("[y]");
    terminal.press("y");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    text
}

#[test]
fn the_hooks_of_settings_decide_as_they_do_in_claude_code_or_ask() {
    // What touch (allowed), ln (no rule), mkdir (a rule asks) and rm (denied) end with.
    let rows = [
        ("true".to_owned(), [0, 4, 4, 126]),
        (says("deny"), [126; 4]),
        ("echo no >&2; exit 2".to_owned(), [126; 4]),
        (says("ask"), [4, 4, 4, 126]),
        // A rule that asks still asks there (measured).
        (says("allow"), [0, 0, 4, 126]),
        ("exit 1".to_owned(), [4, 4, 4, 126]),
        ("no-such-program-anywhere".to_owned(), [4, 4, 4, 126]),
    ];
    for (script, expected) in rows {
        let world = World::new();
        let file = own(&world, &settings("PreToolUse", &[&script]));
        for (command, expected) in
            ["touch a", "ln -s x link", "mkdir b", "rm c"].iter().zip(expected)
        {
            let (status, said) = run(&world, &file, command);
            assert_eq!(status, expected, "{script}: {command}: {said}");
        }
    }
}

#[test]
fn a_permission_request_is_answered_where_a_person_would_be_asked() {
    let rows = [
        ("true".to_owned(), [0, 4, 4, 126, 4]),
        // It answers what a rule asks about, too, and nothing of the safety floor.
        (behaves("allow"), [0, 0, 0, 126, 4]),
        (behaves("deny"), [0, 126, 126, 126, 126]),
        ("exit 2".to_owned(), [0, 4, 4, 126, 4]),
    ];
    for (script, expected) in rows {
        let world = World::new();
        let script = format!("cat >> heard; {script}");
        let file = own(&world, &settings("PermissionRequest", &[&script]));
        let commands = ["touch a", "ln -s x link", "mkdir b", "rm c", "echo x > .bashrc"];
        for (command, expected) in commands.iter().zip(expected) {
            let (status, said) = run(&world, &file, command);
            assert_eq!(status, expected, "{script}: {command}: {said}");
        }
        let heard = fs::read_to_string(world.project().join("heard")).unwrap();
        assert!(heard.contains("PermissionRequest") && !heard.contains("touch a"), "{heard}");
    }
}

#[test]
fn a_project_hook_runs_only_after_it_and_its_script_are_trusted() {
    let world = World::new();
    let script = "bash \"$CLAUDE_PROJECT_DIR\"/.claude/guard.sh";
    let file = of_the_project(&world, &settings("PreToolUse", &[script]));
    let guard = |text: &str| drop(world.file(".claude/guard.sh", text));
    let ran = || fs::remove_file(world.project().join("ran")).is_ok();
    guard("touch ran");
    // Its allow rule applies, because a person named the file. Its hook could have denied the call.
    let (status, said) = run(&world, &file, "touch a");
    assert_eq!((status, ran()), (4, false), "{said}");
    assert!(said.contains("project not trusted"), "{said}");
    assert!(said.contains(&format!("`openoxide trust {file}`")), "{said}");
    let listed = stdout(&world.run(&["rules", "list", "--policy", &file, "--json"], b""));
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!((&first["hook"]["trusted"], &first["hook"]["line"]), (&json!(false), &json!(1)));
    let shown = vouch(&world, &file);
    assert!(shown.contains("hook pre_tool_use Bash") && shown.contains("sha256"), "{shown}");
    assert_eq!((run(&world, &file, "touch a").0, ran()), (0, true));
    let listed = stdout(&world.run(&["rules", "list", "--policy", &file, "--origins"], b""));
    let expected = format!("cli      hook   pre_tool_use Bash: {script:?}  {file}:1\n");
    assert!(listed.starts_with(&expected), "{listed}");
    guard("touch ran; echo evil");
    assert_eq!((run(&world, &file, "touch a").0, ran()), (4, false), "another script");
    // Trust in the file does not extend to the project.
    let shown = stdout(&world.run(&["trust", "--show"], b""));
    assert!(shown.contains("no settings that require trust"), "{shown}");
}

#[test]
fn a_hook_that_becomes_broader_requires_trust_again() {
    let world = World::new();
    let mut with = settings("PreToolUse", &[&says("allow")]);
    with["hooks"]["PreToolUse"][0]["hooks"][0]["if"] = json!("Bash(ls *)");
    let file = of_the_project(&world, &with);
    assert!(vouch(&world, &file).contains("to ask and deny alone"));
    let (status, said) = run(&world, &file, "ln -s x link");
    assert_eq!(status, 4, "its allow does not count: {said}");
    assert!(!said.contains("not trusted"), "{said}");
    let file = of_the_project(&world, &settings("PreToolUse", &[&says("allow")]));
    let (status, said) = run(&world, &file, "ln -s x link");
    assert_eq!(status, 4, "{said}");
    assert!(said.contains("not trusted"), "{said}");
}

#[test]
fn our_own_program_among_the_hooks_is_left_out_and_never_calls_itself_in_a_loop() {
    let world = World::new();
    let own_call = format!("{OPENOXIDE} hook claude");
    let file = own(&world, &settings("PreToolUse", &[&own_call]));
    let (status, said) = run(&world, &file, "touch a");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("it would call itself"), "{said}");
    // Where it is not known for what it is, it is asked once, and asks nothing further. There, these
    // settings are not those of the user's Claude Code, whose allow rules it would apply.
    let hidden = format!("echo called >> calls; CLAUDE_CONFIG_DIR=/ bash -c '{own_call}'");
    let file = own(&world, &settings("PreToolUse", &[&hidden]));
    let (status, said) = run(&world, &file, "touch b");
    assert_eq!(status, 4, "the policy of the machine does not allow it: {said}");
    assert_eq!(fs::read_to_string(world.project().join("calls")).unwrap(), "called\n");
}

#[test]
fn in_front_of_claude_code_its_own_hooks_are_left_to_it() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(touch *)\"]\n");
    let settings = settings("PreToolUse", &["touch ran; exit 2"]);
    drop((own(&world, &settings), of_the_project(&world, &settings)));
    let payload = json!({
        "session_id": "c6dc", "cwd": world.project(), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": "touch a" }, "tool_use_id": "toolu_1",
    });
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    assert!(stdout(&output).contains(r#""permissionDecision":"allow""#), "{}", stdout(&output));
    assert!(!world.project().join("ran").exists());
}

#[test]
fn unsupported_hooks_are_reported_and_disabled_hooks_do_not_run() {
    let world = World::new();
    let mut with = settings("PreToolUse", &["exit 2"]);
    with["hooks"]["Stop"] = json!([{ "hooks": [{ "type": "command", "command": "x" }] }]);
    let list = with["hooks"]["PreToolUse"][0]["hooks"].as_array_mut().unwrap();
    list.push(json!({ "type": "prompt", "prompt": "is it safe?" }));
    let file = own(&world, &with);
    let (status, said) = run(&world, &file, "touch a");
    assert_eq!(status, 126, "{said}");
    assert!(said.contains("`Stop` are ignored") && said.contains("type `prompt`"), "{said}");
    with["disableAllHooks"] = json!(true);
    let (status, said) = run(&world, &own(&world, &with), "touch a");
    assert_eq!(status, 0, "{said}");
    assert!(said.contains("`disableAllHooks`"), "{said}");
}

#[test]
fn hooks_that_an_import_omits_are_reported() {
    let world = World::new();
    let file = own(&world, &settings("PreToolUse", &["guard.sh"]));
    let output = world.run(&["rules", "import", &file], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("Bash(rm *)"), "{}", stdout(&output));
    let said = format!("{file}:1: the hook \"guard.sh\" omitted");
    assert!(stderr(&output).contains(&said), "{}", stderr(&output));
}

#[test]
fn a_wrong_hook_of_settings_is_an_error_with_its_place_and_allows_nothing() {
    let world = World::new();
    let mut wrong = settings("PreToolUse", &["true"]);
    wrong["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = json!(7);
    let file = own(&world, &wrong);
    let output = world.run(&["check", "--policy", &file, "-c", "touch a"], b"");
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).starts_with("ask: "), "{}", stdout(&output));
    assert!(stderr(&output).contains("settings.json:1:"), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("expected a command string or an array of strings"),
        "{}",
        stderr(&output)
    );
    assert_eq!(run(&world, &file, "touch a").0, 4);
}
