//! Tests of `init --preset`: what the real policy, hook and sandbox ask about afterwards.

use std::{fs, process::Command};

use serde_json::{Value, json};

use crate::{
    prompt::Terminal,
    support::{OPENOXIDE, World, code, stderr, stdout},
};

const OWN: &str = "# mine\n[permissions]\ndeny = [\"Bash(forbidden *)\"]\n";

/// A home in which Claude Code was started, and a project with a makefile.
fn home() -> World {
    let world = World::new();
    fs::create_dir(world.root().join(".claude")).unwrap();
    world.file("Makefile", "all:\n\techo made > made\n");
    world
}

fn init(world: &World, args: &[&str]) -> (i32, String, String) {
    let from_build: &[&str] = if args.contains(&"--undo") { &[] } else { &["--from-build"] };
    let output = world.run(&[&["init"], from_build, args].concat(), b"");
    (code(&output), stdout(&output), stderr(&output))
}

/// Returns what the hook answers about a call in the default mode of Claude Code.
fn hook(world: &World, tool: &str, input: &Value) -> Value {
    let payload = json!({
        "session_id": "c6dc", "transcript_path": "/x.jsonl", "cwd": world.project(),
        "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "1",
    });
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
    answer["hookSpecificOutput"].clone()
}

fn bash(world: &World, command: &str) -> String {
    let answer = hook(world, "Bash", &json!({ "command": command, "description": "x" }));
    answer["permissionDecision"].as_str().unwrap().to_owned()
}

fn write(world: &World, name: &str) -> String {
    let input = json!({ "file_path": world.project().join(name), "content": "x" });
    hook(world, "Write", &input)["permissionDecision"].as_str().unwrap().to_owned()
}

fn policy(world: &World) -> String {
    fs::read_to_string(world.user_policy()).unwrap_or_default()
}

#[test]
fn each_preset_asks_what_its_description_says() {
    for (preset, make, edit, install) in [
        ("careful", "ask", "ask", "ask"),
        ("balanced", "allow", "allow", "ask"),
        ("hands-off", "allow", "allow", "allow"),
    ] {
        let world = home().policy(OWN);
        let (exit, _, said) = init(&world, &["--preset", preset]);
        assert_eq!(exit, 0, "{said}");
        assert!(said.contains(&format!("preset {preset}: asks about ")), "{said}");
        assert_eq!(bash(&world, "make"), make, "{preset}");
        assert_eq!(write(&world, "notes.txt"), edit, "{preset}");
        assert_eq!(bash(&world, "npm install left-pad"), install, "{preset}");
        // These need a person under every preset.
        fs::create_dir_all(world.root().join(".ssh")).unwrap();
        fs::write(world.root().join(".ssh/id_ed25519"), "secret").unwrap();
        for command in
            ["cat ~/.ssh/id_ed25519", "curl https://example.org", "rm -rf ~", "touch /etc/x"]
        {
            assert_eq!(bash(&world, command), "ask", "{preset}: {command}");
        }
        assert_eq!(write(&world, ".git/hooks/pre-commit"), "ask", "{preset}");
        assert_eq!(bash(&world, "forbidden thing"), "deny", "{preset}");
        assert!(policy(&world).contains(OWN), "{}", policy(&world));
    }
}

/// The answer of the hook is run as Claude Code runs it.
#[test]
fn a_command_that_needs_no_approval_runs_in_the_sandbox() {
    let world = home();
    assert_eq!(init(&world, &["--preset", "balanced"]).0, 0);
    let answer = hook(&world, "Bash", &json!({ "command": "make", "description": "x" }));
    let command = answer["updatedInput"]["command"].as_str().unwrap();
    assert!(command.contains("sandbox exec --ticket"), "{command}");
    let mut shell = Command::new("bash");
    shell.args(["-c", command]).current_dir(world.project()).env_clear();
    shell.env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", world.root());
    shell.env("XDG_CONFIG_HOME", world.root().join("config"));
    let output = shell.output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(fs::read_to_string(world.project().join("made")).unwrap(), "made\n");
}

#[test]
fn the_change_is_shown_first_and_can_be_undone() {
    let world = home().policy(OWN);
    let (exit, shown, _) = init(&world, &["--preset", "balanced", "--dry-run"]);
    assert_eq!(exit, 0);
    assert!(shown.contains("\n+mode = \"accept_edits\"\n"), "{shown}");
    assert!(shown.contains("\n+auto_allow = \"project\"\n"), "{shown}");
    assert_eq!(policy(&world), OWN);
    assert_eq!(init(&world, &["--preset", "balanced"]).0, 0);
    assert_eq!(init(&world, &["--preset", "balanced", "--dry-run"]).1, "");
    let (_, shown, _) = init(&world, &["--undo", "--dry-run"]);
    assert!(shown.contains("\n-auto_allow = \"project\"\n"), "{shown}");
    let (exit, _, said) = init(&world, &["--undo"]);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("preset removed from "), "{said}");
    assert_eq!(policy(&world), OWN);
    assert!(!init(&world, &["--undo"]).2.contains("preset removed"));
}

#[test]
fn a_setting_of_the_person_is_replaced_only_by_an_explicit_preset_and_then_restored() {
    let own = "mode = \"plan\" # reviews only\n";
    let world = home().policy(own);
    assert_eq!(init(&world, &["claude"]).0, 0);
    assert_eq!(policy(&world), own, "without a terminal and without --preset");
    assert_eq!(init(&world, &["--preset", "hands-off"]).0, 0);
    assert!(policy(&world).contains("(before: plan)"), "{}", policy(&world));
    assert_eq!(write(&world, "notes.txt"), "allow");
    // A value that the person has changed since then is the person's own.
    let edited = policy(&world).replace("\"all\"", "\"off\"");
    fs::write(world.user_policy(), &edited).unwrap();
    assert_eq!(init(&world, &["--undo"]).0, 0);
    assert!(policy(&world).starts_with(own), "{}", policy(&world));
    assert!(policy(&world).contains("auto_allow = \"off\"\n"), "{}", policy(&world));
}

#[test]
fn the_preset_stays_while_another_agent_is_wired() {
    let world = home();
    fs::create_dir(world.root().join(".codex")).unwrap();
    assert_eq!(init(&world, &["--preset", "balanced"]).0, 0);
    assert_eq!(init(&world, &["--undo", "codex"]).0, 0);
    assert!(policy(&world).contains("auto_allow"));
    assert_eq!(init(&world, &["--undo", "claude"]).0, 0);
    assert_eq!(policy(&world), "");
}

#[test]
fn a_policy_with_errors_is_not_changed_and_nothing_is_wired() {
    let broken = "[permissions\n";
    let world = home().policy(broken);
    let (exit, _, said) = init(&world, &["--preset", "balanced"]);
    assert_eq!(exit, 2, "{said}");
    assert_eq!(policy(&world), broken);
    assert!(!world.root().join(".claude/settings.json").exists());
    // The hook can be installed and removed without the preset.
    assert_eq!(init(&world, &["claude"]).0, 0);
    let (exit, _, said) = init(&world, &["--undo"]);
    assert_eq!(exit, 0, "{said}");
    assert!(said.contains("the policy is not changed"), "{said}");
    assert_eq!(policy(&world), broken);
}

/// The machine is simulated in a user namespace without other namespaces.
#[test]
fn a_preset_that_needs_the_sandbox_is_refused_without_one() {
    let world = home();
    let script = "for kind in user mnt net pid ipc; do \
                  echo 0 > /proc/sys/user/max_${kind}_namespaces; done; \"$@\"";
    let run = |preset: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "sh", "-c", script, "sh", OPENOXIDE]);
        unshare.args(["init", "--from-build", "--preset", preset]);
        unshare.current_dir(world.project()).env_clear().env("PATH", "/usr/bin:/bin");
        unshare.env("HOME", world.root()).env("XDG_CONFIG_HOME", world.root().join("config"));
        unshare.output().unwrap()
    };
    for preset in ["balanced", "hands-off"] {
        let output = run(preset);
        assert_eq!(code(&output), 2);
        let said = stderr(&output);
        assert!(
            said.contains("cannot confine them") && said.contains("--preset careful"),
            "{said}"
        );
        assert!(!world.user_policy().exists());
    }
    assert_eq!(code(&run("careful")), 0);
    assert!(!world.user_policy().exists(), "careful is the same as no setting");
}

#[test]
fn a_terminal_is_asked_once() {
    let world = home();
    let mut terminal = Terminal::run(&world, &["init", "--from-build", "claude"]);
    terminal.wait_for("what do you want to be asked about?");
    terminal.wait_for("preset [2]:");
    terminal.press("7\r");
    terminal.wait_for("type 1, 2 or 3");
    terminal.press("\r");
    terminal.wait_for("write these rules to");
    terminal.wait_for("[n]");
    terminal.press("n");
    let (exit, text) = terminal.end();
    assert_eq!(exit, 0, "{text}");
    assert!(policy(&world).contains("init --preset balanced"), "{text}");
    assert!(!world.project().join(".openoxide").exists(), "the rules were declined");
    assert_eq!(bash(&world, "make"), "allow");
    // The policy has the settings now, so there is no question.
    let (exit, text) = Terminal::run(&world, &["init", "--from-build", "claude"]).end();
    assert_eq!(exit, 0, "{text}");
    assert!(!text.contains("preset"), "{text}");
}
