//! The hints about saved approvals and rules in a question of the hook.

use std::fs;

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout};

/// Returns the reason that the dialog of Claude Code shows for a command.
fn question(world: &World, session: &str, command: &str) -> String {
    let payload = json!({
        "session_id": session, "cwd": world.project(), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": command }, "tool_use_id": command,
    });
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let found = &found["hookSpecificOutput"];
    assert_eq!(found["permissionDecision"], "ask", "{found}");
    found["permissionDecisionReason"].as_str().unwrap().to_owned()
}

fn run(world: &World, args: &[&str]) -> String {
    let output = world.run(args, b"");
    assert_eq!(code(&output), 0, "{args:?}: {}", stderr(&output));
    stdout(&output)
}

#[test]
fn the_first_question_of_a_session_tells_how_to_save_a_rule() {
    let world = World::new().policy("[permissions]\nask = [\"Bash(mkdir *)\"]\n");
    let hint = "`openoxide allow last`";
    assert!(!question(&world, "1", "mkdir d").contains(hint), "a rule asks");
    assert!(!question(&world, "1", "eval \"$X\"").contains(hint), "no rule can answer");
    let first = question(&world, "1", "touch a");
    assert!(first.contains(hint), "{first}");
    assert!(!question(&world, "1", "touch b").contains(hint), "once in a session");
    assert!(question(&world, "2", "touch b").contains(hint), "another session");
    let log = run(&world, &["audit", "log"]);
    assert!(!log.contains(hint), "the reason is recorded without it: {log}");
}

#[test]
fn a_question_names_the_approval_that_has_ended() {
    let world = World::new();
    run(&world, &["grants", "add", "Bash(touch *)", "--times", "1"]);
    run(&world, &["run", "-c", "touch a"]);
    let asked = question(&world, "1", "touch b");
    let expected = "your approval `Bash(touch *)` does not apply: use limit reached";
    assert!(asked.contains(expected), "{asked}");
    assert!(!question(&world, "1", "mkdir d").contains("your approval"));
    run(&world, &["grants", "revoke", "1"]);
    assert!(!question(&world, "1", "touch c").contains("your approval"), "it was revoked");
    // An entry that the project has written is not an approval of the user.
    let file = world.project().join(".openoxide/approvals.toml");
    let text = "[[grant]]\nid = \"x\"\nrule = \"Bash(touch *)\"\nmac = \"00\"\ntimes = 1\n";
    fs::write(file, text).unwrap();
    assert!(!question(&world, "1", "touch d").contains("your approval"));
}

#[test]
fn exported_grants_are_a_policy_that_allows_the_same() {
    let world = World::new();
    run(&world, &["grants", "add", "Bash(touch *)"]);
    run(&world, &["grants", "add", "Bash(cp *)", "--times", "3"]);
    let output = world.run(&["grants", "export", "--as-rules"], b"");
    assert!(stderr(&output).contains("left out, because limited: Bash(cp *)"));
    let policy = world.project().join("exported.toml");
    fs::write(&policy, stdout(&output)).unwrap();
    let policy = policy.to_str().unwrap();
    for (command, expected) in [("touch a", 0), ("cp a b", 4)] {
        let checked = world.run(&["check", "--policy", policy, "-c", command], b"");
        assert_eq!(code(&checked), expected, "{command}: {}", stdout(&checked));
    }
    let other = World::new();
    assert_eq!(run(&other, &["grants", "export"]), "");
}
