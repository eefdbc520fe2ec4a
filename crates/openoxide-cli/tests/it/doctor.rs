//! Tests of `doctor` and `status`: each problem is made with the files that cause it, and a fix that
//! is a command removes it.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use serde_json::{Value, json};

use crate::support::{OPENOXIDE, World, code, stdout};

/// A home in which both agents call OpenOxide.
fn wired() -> World {
    let world = World::new();
    fs::create_dir_all(world.root().join(".claude")).unwrap();
    fs::create_dir_all(world.root().join(".codex")).unwrap();
    assert_eq!(code(&world.run(&["init", "--from-build"], b"")), 0);
    world
}

/// Returns the exit status, and the object of one agent.
fn doctor(world: &World, agent: &str) -> (i32, Value) {
    let output = world.run(&["doctor", agent, "--json"], b"");
    (code(&output), serde_json::from_str(&stdout(&output)).unwrap())
}

fn find<'v>(answer: &'v Value, code: &str) -> Option<&'v Value> {
    answer["problems"].as_array().unwrap().iter().find(|problem| problem["code"] == code)
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, change(text)).unwrap();
}

/// Makes a problem, checks that it is found, and applies its fix if that is a command.
fn assert_found(agent: &str, code: &str, result: &str, make: impl FnOnce(&World)) {
    let world = wired();
    let before = doctor(&world, agent);
    assert_eq!((before.0, &before.1["result"]), (0, &json!("enforced")), "{}", before.1);
    assert!(find(&before.1, code).is_none(), "{code} before: {}", before.1);
    make(&world);
    let (exit, found) = doctor(&world, agent);
    let problem = find(&found, code).unwrap_or_else(|| panic!("{code}: {found}"));
    assert_eq!(found["result"], result, "{code}: {found}");
    assert_eq!(exit, i32::from(result != "enforced"), "{code}: {found}");
    let Some(command) = problem["command"].as_str() else { return };
    // The tests run a program in a build directory, which `init` does not wire otherwise.
    let command = command.replace("openoxide init --install", "openoxide init --from-build");
    let path = format!("{}:/usr/bin:/bin", Path::new(OPENOXIDE).parent().unwrap().display());
    let mut shell = Command::new("sh");
    shell.args(["-c", &command]).current_dir(world.project()).env_clear();
    shell.env("PATH", path).env("HOME", world.root());
    shell.env("XDG_CONFIG_HOME", world.root().join("config"));
    assert!(shell.output().unwrap().status.success(), "{command}");
    let (_, fixed) = doctor(&world, agent);
    assert!(find(&fixed, code).is_none(), "{command} does not fix {code}: {fixed}");
}

fn claude_settings(world: &World) -> std::path::PathBuf {
    world.root().join(".claude/settings.json")
}

fn with_settings(world: &World, change: impl FnOnce(&mut Value)) {
    edit(&claude_settings(world), |text| {
        let mut settings: Value = serde_json::from_str(&text).unwrap();
        change(&mut settings);
        settings.to_string()
    });
}

fn project_settings(world: &World, name: &str, settings: &Value) {
    let folder = world.project().join(".claude");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), settings.to_string()).unwrap();
}

#[test]
fn hooks_that_are_not_called_are_errors() {
    assert_found("claude", "not_wired", "not_enforced", |world| {
        fs::write(claude_settings(world), "{}").unwrap();
    });
    assert_found("codex", "not_wired", "not_enforced", |world| {
        fs::remove_file(world.root().join(".codex/hooks.json")).unwrap();
    });
    for name in ["settings.json", "settings.local.json"] {
        assert_found("claude", "hooks_disabled", "not_enforced", |world| {
            project_settings(world, name, &json!({ "disableAllHooks": true }));
        });
    }
    assert_found("claude", "hooks_disabled", "not_enforced", |world| {
        with_settings(world, |settings| settings["disableAllHooks"] = json!(true));
    });
    assert_found("codex", "hooks_disabled", "not_enforced", |world| {
        edit(&world.root().join(".codex/config.toml"), |text| text + "[features]\nhooks = false\n");
    });
    assert_found("claude", "settings_invalid", "not_enforced", |world| {
        edit(&claude_settings(world), |text| format!("// mine\n{text}"));
    });
    assert_found("claude", "event_missing", "not_enforced", |world| {
        with_settings(world, |settings| {
            settings["hooks"].as_object_mut().unwrap().remove("PermissionRequest");
        });
    });
    assert_found("claude", "matcher_narrow", "not_enforced", |world| {
        with_settings(world, |all| all["hooks"]["PreToolUse"][0]["matcher"] = json!("Bash"));
    });
    assert_found("claude", "short_timeout", "not_enforced", |world| {
        with_settings(world, |all| all["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = json!(1));
    });
}

#[test]
fn hooks_that_codex_skips_are_errors() {
    let config = |world: &World| world.root().join(".codex/config.toml");
    assert_found("codex", "hook_untrusted", "not_enforced", |world| {
        fs::write(config(world), "").unwrap();
    });
    assert_found("codex", "hook_untrusted", "not_enforced", |world| {
        edit(&config(world), |text| text.replace("sha256:", "sha256:0"));
    });
    assert_found("codex", "hook_untrusted", "not_enforced", |world| {
        edit(&config(world), |text| text.replace("trusted_hash", "enabled = false\ntrusted_hash"));
    });
}

/// Replaces the program of both hooks of Claude Code by a script.
fn replace_program(world: &World, script: &str) {
    let program = world.root().join("openoxide");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = fs::read_to_string(claude_settings(world)).unwrap();
    fs::write(claude_settings(world), text.replace(OPENOXIDE, program.to_str().unwrap())).unwrap();
}

#[test]
fn test_calls_show_what_the_hook_does() {
    let allows = "#!/bin/sh\necho '{\"hookSpecificOutput\":{\"hookEventName\":\"PreToolUse\",\"permissionDecision\":\"allow\"}}'\n";
    for script in [allows, "#!/bin/sh\nexit 0\n"] {
        assert_found("claude", "call_allowed", "not_enforced", |world| {
            replace_program(world, script);
        });
    }
    assert_found("claude", "calls_blocked", "not_enforced", |world| {
        replace_program(world, "#!/bin/sh\nexit 1\n");
    });
    assert_found("claude", "other_program", "not_enforced", |world| {
        replace_program(world, "#!/bin/sh\nexit 0\n");
    });
    assert_found("claude", "no_answer", "not_enforced", |world| {
        with_settings(world, |all| all["hooks"]["PreToolUse"][0]["hooks"][0]["timeout"] = json!(1));
        replace_program(world, "#!/bin/sh\nsleep 30\n");
    });
    assert_found("claude", "program_missing", "not_enforced", |world| {
        edit(&claude_settings(world), |text| text.replace(OPENOXIDE, "/nowhere/openoxide"));
    });
    assert_found("claude", "fails_open", "not_enforced", |world| {
        edit(&claude_settings(world), |text| {
            let end = openoxide_end(&text);
            text.replace(&end, "")
        });
    });
}

/// Returns the text after the hook's own command.
fn openoxide_end(text: &str) -> String {
    let settings: Value = serde_json::from_str(text).unwrap();
    let command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"].as_str().unwrap();
    command.split_once(" hook claude").unwrap().1.to_owned()
}

#[test]
fn a_codex_hook_that_allows_everything_is_found() {
    assert_found("codex", "call_allowed", "not_enforced", |world| {
        let program = world.root().join("openoxide");
        fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        edit(&world.root().join(".codex/hooks.json"), |text| {
            text.replace(OPENOXIDE, program.to_str().unwrap())
        });
    });
}

#[test]
fn what_weakens_the_hook_is_a_warning() {
    let other = json!([{ "hooks": [{ "type": "command", "command": "approve-all" }] }]);
    assert_found("claude", "other_hooks", "enforced", |world| {
        with_settings(world, |all| {
            all["hooks"]["PermissionRequest"].as_array_mut().unwrap().push(other[0].clone());
        });
    });
    assert_found("claude", "report_missing", "enforced", |world| {
        with_settings(world, |all| {
            drop(all["hooks"].as_object_mut().unwrap().remove("PostToolUse"));
        });
    });
    assert_found("claude", "ask_rule", "enforced", |world| {
        with_settings(world, |all| all["permissions"]["ask"] = json!(["*"]));
    });
    assert_found("claude", "bypass_mode", "enforced", |world| {
        with_settings(world, |all| all["permissions"]["defaultMode"] = json!("bypassPermissions"));
    });
    assert_found("codex", "bypass_mode", "enforced", |world| {
        let both = "approval_policy = \"never\"\nsandbox_mode = \"danger-full-access\"\n";
        edit(&world.root().join(".codex/config.toml"), |text| both.to_owned() + &text);
    });
    assert_found("claude", "bypass_alias", "enforced", |world| {
        let alias = "alias cc='claude --dangerously-skip-permissions'\n";
        fs::write(world.root().join(".bashrc"), alias).unwrap();
    });
    assert_found("claude", "project_runs_code", "enforced", |world| {
        project_settings(world, "settings.json", &json!({ "apiKeyHelper": "./key.sh" }));
    });
    assert_found("claude", "project_runs_code", "enforced", |world| {
        world.file(".mcp.json", r#"{"mcpServers": {"x": {"command": "./x"}}}"#);
    });
    assert_found("claude", "project_widens", "enforced", |world| {
        project_settings(world, "settings.json", &json!({ "permissions": { "allow": ["Bash"] } }));
    });
    assert_found("claude", "program_relative", "not_enforced", |world| {
        edit(&claude_settings(world), |text| text.replace(OPENOXIDE, "openoxide"));
    });
}

#[test]
fn problems_of_the_machine_are_warnings() {
    assert_found("claude", "policy_broken", "enforced", |world| {
        fs::write(world.user_policy(), "[permissions\n").unwrap();
    });
    assert_found("claude", "directory_writable", "enforced", |world| {
        let directory = world.root().join("config/openoxide");
        fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
    });
    assert_found("claude", "project_untrusted", "enforced", |world| {
        fs::create_dir_all(world.project().join(".openoxide")).unwrap();
        world.file(".openoxide/policy.toml", "[permissions]\nallow = [\"Bash(make)\"]\n");
    });
    assert_found("claude", "journal_damaged", "enforced", |world| {
        world.run(&["run", "-c", "true"], b"");
        let journal = world.root().join(".local/state/openoxide/audit/journal.ndjson");
        edit(&journal, |text| text.replacen("\"allow\"", "\"deny\"", 1));
    });
    assert_found("claude", "clock_behind", "enforced", |world| {
        let later = std::time::SystemTime::now() + std::time::Duration::from_secs(86_400);
        let directory = fs::File::open(world.root().join("config/openoxide")).unwrap();
        directory.set_modified(later).unwrap();
    });
    let (_, answer) = doctor(&wired(), "claude");
    // The account of this process has another home.
    assert!(find(&answer, "home_unclear").is_some(), "{answer}");
    assert!(find(&answer, "build_directory").is_some(), "{answer}");
}

#[test]
fn versions_come_from_the_files_of_the_agents() {
    let world = wired();
    let package = world.root().join("node_modules/@openai/codex");
    fs::create_dir_all(package.join("bin")).unwrap();
    let manifest = json!({ "name": "@openai/codex", "version": "0.98.0" }).to_string();
    fs::write(package.join("package.json"), manifest).unwrap();
    fs::write(package.join("bin/codex.js"), "").unwrap();
    let bin = world.root().join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(package.join("bin/codex.js"), bin.join("codex")).unwrap();
    let mut command = world.command(&["doctor", "codex", "--json"]);
    let path = format!("{}:/usr/bin:/bin", bin.display());
    let output = command.env("PATH", path).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["version"], "0.98.0");
    let problem = find(&answer, "version_untested").unwrap();
    assert!(problem["message"].as_str().unwrap().contains("older than"), "{problem}");
}

#[test]
fn settings_of_a_project_for_codex_are_read() {
    let settings = |world: &World, name: &str, text: &str| {
        fs::create_dir_all(world.project().join(".codex")).unwrap();
        fs::write(world.project().join(".codex").join(name), text).unwrap();
    };
    assert_found("codex", "hooks_disabled", "not_enforced", |world| {
        settings(world, "config.toml", "[features]\nhooks = false\n");
    });
    assert_found("codex", "project_widens", "enforced", |world| {
        settings(world, "config.toml", "sandbox_mode = \"danger-full-access\"\n");
    });
    assert_found("codex", "project_runs_code", "enforced", |world| {
        settings(world, "hooks.json", r#"{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}}"#);
    });
}

/// A pipe in the place of a file would block a reader for ever.
#[test]
fn a_project_cannot_block_doctor() {
    let world = wired();
    fs::create_dir_all(world.project().join(".claude")).unwrap();
    for name in [".claude/settings.json", ".mcp.json"] {
        let status = Command::new("mkfifo").arg(world.project().join(name)).status();
        assert!(status.unwrap().success());
    }
    assert_eq!(doctor(&world, "claude").0, 0);
}

/// A hook in the settings of a project is a program of the project.
#[test]
fn hooks_of_a_project_are_not_run() {
    let world = wired();
    let program = world.project().join("openoxide");
    fs::write(&program, "#!/bin/sh\ntouch \"$HOME/was-run\"\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("{} hook claude || exit 2", program.display());
    let hooks = json!([{ "matcher": "*", "hooks": [{ "type": "command", "command": command }] }]);
    project_settings(&world, "settings.json", &json!({ "hooks": { "PreToolUse": hooks } }));
    let (exit, answer) = doctor(&world, "claude");
    assert_eq!(exit, 0);
    assert!(find(&answer, "project_runs_code").is_some(), "{answer}");
    assert!(!world.root().join("was-run").exists());
}

#[test]
fn test_calls_leave_no_records() {
    let world = wired();
    assert_eq!(doctor(&world, "claude").0, 0);
    assert_eq!(doctor(&world, "codex").0, 0);
    assert!(!world.root().join(".local/state/openoxide/audit").exists());
}

#[test]
fn status_shows_agents_policy_and_todays_decisions() {
    let world = wired().policy("mode = \"default\"\n[sandbox]\nauto_allow = \"project\"\n");
    let call = json!({
        "session_id": "s", "cwd": world.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": "ls" }, "tool_use_id": "t",
    });
    world.run(&["hook", "claude"], call.to_string().as_bytes());
    let status = |args: &[&str]| stdout(&world.run(&[&["status"], args].concat(), b""));
    let shown: Value = serde_json::from_str(&status(&["--json"])).unwrap();
    assert_eq!(shown["agents"][0]["name"], "claude");
    assert_eq!(shown["agents"][0]["wired"], true);
    assert_eq!(shown["agents"][0]["enforced"], Value::Null);
    assert_eq!(shown["policy"]["auto_allow"], "project");
    assert_eq!(shown["policy"]["files"][0]["path"], world.user_policy().to_str().unwrap());
    assert_eq!(shown["today"]["allow"], 1);
    assert_eq!(shown["pending"], 0);
    assert!(status(&[]).contains("Claude Code (version unknown): hook installed"));
    project_settings(&world, "settings.json", &json!({ "disableAllHooks": true }));
    let shown: Value = serde_json::from_str(&status(&["--json"])).unwrap();
    assert_eq!(shown["agents"][0]["enforced"], false);
    assert!(shown["next"].as_str().unwrap().starts_with("remove `disableAllHooks`"), "{shown}");
}
