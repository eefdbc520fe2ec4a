//! Tests of `init`: agents call OpenOxide, and the previous content of their settings is kept.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::{
    prompt::Terminal,
    support::{World, code, stderr, stdout},
};

const CONFIG: &str = "# mine\nmodel = \"x\"\n";
const SETTINGS: &str =
    "{\n  \"model\": \"y\",\n  \"permissions\": {\n    \"deny\": [\"Read(.env)\"]\n  }\n}\n";

/// A home in which both agents were started once.
fn home() -> (World, PathBuf, PathBuf) {
    let world = World::new();
    let (claude, codex) = (world.root().join(".claude"), world.root().join(".codex"));
    fs::create_dir(&claude).unwrap();
    fs::create_dir(&codex).unwrap();
    fs::write(claude.join("settings.json"), SETTINGS).unwrap();
    fs::write(codex.join("config.toml"), CONFIG).unwrap();
    (world, claude.join("settings.json"), codex)
}

fn init(world: &World, args: &[&str]) -> (i32, String, String) {
    let undo = args.contains(&"--undo");
    // The tests run a program in a build directory, which `init` does not wire.
    let install: &[&str] = if undo { &[] } else { &["--install"] };
    let output = world.run(&[&["init"], install, args].concat(), b"");
    (code(&output), stdout(&output), stderr(&output))
}

#[test]
fn both_agents_are_found_wired_and_unwired() {
    let (world, claude, codex) = home();
    let (exit, shown, _) = init(&world, &["--dry-run"]);
    assert_eq!(exit, 0);
    for line in ["+++ ", "+trusted_hash = \"sha256:", "hook codex || ", "hook claude || "] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("\"ask\""), "{shown}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), SETTINGS);
    assert!(!codex.join("hooks.json").exists());
    assert!(!world.root().join(".local/bin/openoxide").exists());

    let (exit, _, said) = init(&world, &[]);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("Codex hook installed; takes effect in the next session"), "{said}");
    let config = fs::read_to_string(codex.join("config.toml")).unwrap();
    let settings: Value = serde_json::from_slice(&fs::read(&claude).unwrap()).unwrap();
    assert!(config.starts_with(CONFIG), "{config}");
    assert_eq!(config.matches("trusted_hash").count(), 2);
    assert_eq!(settings["permissions"]["deny"][0], "Read(.env)");
    let command = &settings["hooks"]["PermissionRequest"][0]["hooks"][0]["command"];
    assert!(command.as_str().unwrap().contains(" hook claude || { "), "{command}");
    let installed = world.root().join(".local/bin/openoxide");
    assert!(command.as_str().unwrap().starts_with(installed.to_str().unwrap()), "{command}");
    assert_eq!(settings["permissions"].get("ask"), None);
    for next in ["try:", "undo:    openoxide init --undo", "openoxide codex review"] {
        assert!(said.contains(next), "{next}: {said}");
    }

    // Once more, and nothing changes.
    let (_, shown, _) = init(&world, &["--dry-run"]);
    assert_eq!(shown, "");
    assert!(init(&world, &["codex"]).2.contains("Codex hook already installed"));

    let (exit, _, said) = init(&world, &["--undo"]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(fs::read_to_string(codex.join("config.toml")).unwrap(), CONFIG);
    let settings: Value = serde_json::from_slice(&fs::read(&claude).unwrap()).unwrap();
    assert_eq!(settings, serde_json::from_str::<Value>(SETTINGS).unwrap());
    assert!(init(&world, &["--undo", "codex"]).2.contains("Codex hook not installed"));
}

#[test]
fn who_never_called_us_keeps_the_rule_that_asks() {
    let (world, claude, _) = home();
    let own = "{ \"permissions\": { \"ask\": [\"*\"] } }";
    fs::write(&claude, own).unwrap();
    assert_eq!(init(&world, &["--undo", "claude"]).0, 0);
    assert_eq!(fs::read_to_string(&claude).unwrap(), own);
}

/// Returns the ask rules of Claude Code.
fn ask_rules(claude: &PathBuf) -> Option<Value> {
    let settings: Value = serde_json::from_slice(&fs::read(claude).unwrap()).unwrap();
    settings["permissions"].get("ask").cloned()
}

#[test]
fn the_ask_rule_of_strict_stays_until_it_is_undone() {
    let (world, claude, _) = home();
    let (exit, _, said) = init(&world, &["--strict", "claude"]);
    assert_eq!(exit, 0, "{said}");
    assert_eq!(ask_rules(&claude), Some(json!(["*"])));
    assert!(said.contains("strict:"), "{said}");
    for _ in 0..2 {
        let (exit, shown, said) = init(&world, &["--dry-run", "claude"]);
        assert_eq!((exit, shown.as_str()), (0, ""));
        assert!(said.contains("keeps the ask rule `*`"), "{said}");
        assert!(said.contains("`openoxide init --undo claude` removes it"), "{said}");
        let (exit, _, said) = init(&world, &["claude"]);
        assert_eq!(exit, 0, "{said}");
        assert!(said.contains("keeps the ask rule `*`"), "{said}");
        assert_eq!(ask_rules(&claude), Some(json!(["*"])));
    }
    let (_, shown, said) = init(&world, &["--undo", "--dry-run"]);
    assert!(shown.contains("\n-    \"ask\": [\"*\"]"), "{shown}");
    assert!(said.contains("without the ask rule `*`") && !said.contains("removed"), "{said}");
    let (exit, _, said) = init(&world, &["--undo"]);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("without the ask rule `*`, which `init --strict` has added"), "{said}");
    let settings: Value = serde_json::from_slice(&fs::read(&claude).unwrap()).unwrap();
    assert_eq!(settings, serde_json::from_str::<Value>(SETTINGS).unwrap());
}

#[test]
fn an_ask_rule_of_the_person_is_never_removed() {
    let (world, claude, _) = home();
    fs::write(&claude, r#"{ "permissions": { "ask": ["*", "Bash(x)"] } }"#).unwrap();
    let own = Some(json!(["*", "Bash(x)"]));
    let rounds: [&[&str]; 5] =
        [&["claude"], &["claude"], &["--strict", "claude"], &["claude"], &["--undo", "claude"]];
    for args in rounds {
        let (exit, _, said) = init(&world, args);
        assert_eq!(exit, 0, "{said}");
        assert_eq!(ask_rules(&claude), own, "{args:?}");
        let is_named = said.contains("delete `\"*\"` from `permissions.ask`");
        assert_eq!(is_named, !args.contains(&"--strict"), "{args:?}: {said}");
    }
    assert!(!fs::read_to_string(&claude).unwrap().contains("openoxide"));
}

/// An agent writes its own settings, for example when its user answers a dialog.
#[test]
fn what_an_agent_writes_while_a_question_waits_is_kept() {
    let (world, claude, _) = home();
    let mut terminal = Terminal::run(&world, &["init", "--from-build", "claude"]);
    terminal.wait_for("preset [2]:");
    let written = SETTINGS.replace("\"y\"", "\"z\"");
    fs::write(&claude, &written).unwrap();
    terminal.press("1\r");
    let (exit, text) = terminal.end();
    assert_eq!(exit, 0, "{text}");
    let settings = fs::read_to_string(&claude).unwrap();
    assert!(
        settings.contains("\"model\": \"z\"") && settings.contains("hook claude"),
        "{settings}"
    );
}

/// A program that is called `openoxide-0.2`, as some installations keep versions.
#[test]
fn a_program_with_another_name_is_wired_once_and_removed() {
    let (world, claude, codex) = home();
    let program = world.root().join("openoxide-0.2");
    fs::copy(crate::support::OPENOXIDE, &program).unwrap();
    let run = |args: &[&str]| {
        let mut init = std::process::Command::new(&program);
        init.arg("init").args(args).env_clear().env("HOME", world.root());
        assert!(init.output().unwrap().status.success());
        let hooks = fs::read_to_string(codex.join("hooks.json")).unwrap_or_default();
        let settings = fs::read_to_string(&claude).unwrap();
        [settings.matches("hook claude").count(), hooks.matches("hook codex").count()]
    };
    for _ in 0..2 {
        assert_eq!(run(&[]), [4, 2]);
    }
    assert_eq!(run(&["--undo"]), [0, 0]);
}

#[test]
fn a_program_in_a_build_directory_is_not_wired() {
    let (world, claude, _) = home();
    let output = world.run(&["init", "claude"], b"");
    assert_eq!(code(&output), 2);
    let said = stderr(&output);
    assert!(said.contains("build directory") && said.contains("init --install"), "{said}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), SETTINGS);
}

#[test]
fn invalid_json_is_reported_with_its_line_and_kept() {
    let (world, claude, _) = home();
    let broken = "{\n  \"model\": \"y\",\n  oops\n}\n";
    fs::write(&claude, broken).unwrap();
    let (exit, _, said) = init(&world, &["claude"]);
    assert_eq!(exit, 2);
    assert!(said.contains("settings.json: invalid JSON") && said.contains("line 3"), "{said}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), broken);
    assert!(!world.root().join(".local").exists());
}

#[test]
fn settings_that_are_wrong_are_left_and_nothing_is_written_anywhere() {
    let (world, claude, codex) = home();
    fs::write(codex.join("hooks.json"), "{\"hooks\": []}").unwrap();
    let (exit, _, said) = init(&world, &[]);
    assert_eq!(exit, 2);
    assert!(said.contains("hooks.json: `hooks` is not an object"), "{said}");
    assert_eq!(fs::read_to_string(&claude).unwrap(), SETTINGS);
    assert_eq!(fs::read_to_string(codex.join("config.toml")).unwrap(), CONFIG);
}

#[test]
fn where_no_agent_is_one_has_to_be_named() {
    let world = World::new();
    let (exit, _, said) = init(&world, &[]);
    assert_eq!(exit, 2);
    assert!(said.contains("openoxide init codex"), "{said}");
    assert_eq!(init(&world, &["codex"]).0, 0);
    assert!(world.root().join(".codex/hooks.json").exists());
    assert_eq!(init(&world, &["emacs"]).0, 2);
}

/// The command that `init` installs is run in the same way as agents run it: by a shell.
#[test]
fn a_wired_program_that_is_missing_or_crashes_blocks() {
    let world = World::new();
    let folder = world.root().join("a b");
    fs::create_dir_all(&folder).unwrap();
    let program = folder.join("openoxide");
    fs::copy(crate::support::OPENOXIDE, &program).unwrap();
    for agent in ["claude", "codex"] {
        let home = world.root().join(format!(".{agent}"));
        fs::create_dir_all(&home).unwrap();
        let mut init = std::process::Command::new(&program);
        let done = init.args(["init", agent]).env_clear().env("HOME", world.root()).output();
        assert!(done.unwrap().status.success());
        let file = home.join(if agent == "claude" { "settings.json" } else { "hooks.json" });
        let settings: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].clone();
        let run = |what: &str| {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", command.as_str().unwrap()]).current_dir(world.project());
            shell.env_clear().env("PATH", "/usr/bin:/bin").env("HOME", world.root());
            let output = shell.stdin(std::process::Stdio::null()).output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            (output.status.code(), said.contains("so the call is blocked"), what.to_owned())
        };
        let blocked = |what: &str| (Some(2), true, what.to_owned());
        assert_eq!(run("alive"), (Some(0), false, "alive".to_owned()));
        let kept = folder.join("kept");
        fs::rename(&program, &kept).unwrap();
        assert_eq!(run("missing"), blocked("missing"));
        for (what, script) in [
            ("killed", "#!/bin/sh\nkill -9 $$\n"),
            ("panicked", "#!/bin/sh\nexit 101\n"),
            ("segmentation fault", "#!/bin/sh\nkill -11 $$\n"),
            ("no such interpreter", "#!/nowhere/sh\n"),
        ] {
            fs::write(&program, script).unwrap();
            fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .unwrap();
            assert_eq!(run(what), blocked(what));
        }
        fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(run("not executable"), blocked("not executable"));
        fs::rename(&kept, &program).unwrap();
    }
}

/// A call that has ended cannot be blocked any more, and status 2 would show the model an error.
#[test]
fn a_report_without_the_program_does_not_claim_that_the_call_is_blocked() {
    let (world, claude, _) = home();
    assert_eq!(init(&world, &["claude"]).0, 0);
    fs::remove_file(world.root().join(".local/bin/openoxide")).unwrap();
    let settings: Value = serde_json::from_slice(&fs::read(&claude).unwrap()).unwrap();
    for event in ["PostToolUse", "PostToolUseFailure"] {
        let command = settings["hooks"][event][0]["hooks"][0]["command"].as_str().unwrap();
        let output = std::process::Command::new("sh").args(["-c", command]).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let said = stderr(&output);
        assert!(said.contains("is not recorded") && !said.contains("blocked"), "{said}");
    }
}

#[test]
fn entries_of_earlier_versions_are_brought_up_to_date_and_taken_out() {
    let world = World::new();
    let file = world.root().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let hook = |hook: Value| {
        let group = serde_json::json!([{ "matcher": "*", "hooks": [hook] }]);
        serde_json::json!({ "hooks": { "PreToolUse": group, "PermissionRequest": group } })
    };
    let words = serde_json::json!(["hook", "claude"]);
    let old = [
        serde_json::json!({ "type": "command", "command": "/old/openoxide", "args": words, "timeout": 10 }),
        serde_json::json!({ "type": "command", "command": "'/o l d/openoxide' hook claude || exit 2" }),
    ];
    for old in old {
        fs::write(&file, hook(old.clone()).to_string()).unwrap();
        assert_eq!(init(&world, &["claude"]).0, 0);
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("/old/") && !text.contains("/o l d/"), "{text}");
        assert_eq!(text.matches(" hook claude || { ").count(), 4, "{text}");
        assert_eq!(text.matches("exit 2").count(), 2, "{text}");
        fs::write(&file, hook(old).to_string()).unwrap();
        assert_eq!(init(&world, &["--undo", "claude"]).0, 0);
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains("openoxide"), "{text}");
    }
}
