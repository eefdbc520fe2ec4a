//! A policy that has become invalid: `explain`, `check`, `check --batch`, `run` and `hook` agree on
//! the decision.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout};

const HOOK: &str = "[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"true\"\n";
const RULES: &str = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(less *)\"]\n";

/// Returns a world whose policy was good, was used by an agent's hook, and is wrong now.
fn turned_wrong(good: &str) -> World {
    let world = World::new().policy(good);
    // What changed more recently is not kept: it could change again within the clock's step.
    std::thread::sleep(Duration::from_millis(2200));
    assert_eq!(by_hook(&world, "touch a").0, "allow");
    world.policy("permissions = \n")
}

fn by_hook(world: &World, command: &str) -> (String, String) {
    let payload = json!({
        "session_id": "c6dc", "cwd": world.project(), "hook_event_name": "PreToolUse",
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "toolu_1",
    });
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    let answer: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let text = |key: &str| answer["hookSpecificOutput"][key].as_str().unwrap().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

/// Returns what a line of JSON decides, and why.
fn decided(output: &str) -> (String, String) {
    let answer: Value = serde_json::from_str(output).unwrap();
    let text = |key: &str| answer[key].as_str().unwrap().to_owned();
    (text("decision"), text("reason"))
}

/// Guards I05.
#[test]
fn all_ways_to_ask_agree_on_a_policy_that_has_turned_wrong() {
    for good in [RULES.to_owned(), format!("{RULES}{HOOK}")] {
        let world = turned_wrong(&good);
        for (command, effect, status) in [("less x", "deny", 126), ("touch a", "ask", 4)] {
            let row = json!({ "tool": "Bash", "input": { "command": command } }).to_string();
            for (args, input) in [
                (["check", "--json", "-c", command].as_slice(), ""),
                (&["explain", "--json", "-c", command], ""),
                (&["check", "--batch"], &row),
            ] {
                let output = world.run(args, input.as_bytes());
                assert_eq!(code(&output), 2, "{args:?}: what is wrong goes before what is decided");
                assert!(stderr(&output).contains("policy.toml:1:"), "{}", stderr(&output));
                let (found, why) = decided(&stdout(&output));
                assert_eq!(found, effect, "{args:?}: {why}");
                assert_eq!(why.contains("in its last good version"), effect == "deny", "{why}");
            }
            assert_eq!(by_hook(&world, command).0, effect, "{command}");
            let output = world.run(&["run", "-c", command], b"");
            assert_eq!(code(&output), status, "{}", stderr(&output));
        }
        let shown = stdout(&world.run(&["explain", "-c", "less x"], b""));
        assert!(
            shown.starts_with("deny: `less x` is denied by user policy in its last good"),
            "{shown}"
        );
        fs::remove_file(world.user_policy()).unwrap();
        assert_eq!(by_hook(&world, "less x").0, "ask", "a file that is gone is not wrong");
    }
}

#[test]
fn a_named_file_is_used_without_a_last_good_version() {
    let world = turned_wrong(RULES);
    let named = world.user_policy();
    let args = ["check", "--json", "--policy", named.to_str().unwrap(), "-c", "less x"];
    let output = world.run(&args, b"");
    assert_eq!((code(&output), decided(&stdout(&output)).0.as_str()), (2, "ask"));
}
