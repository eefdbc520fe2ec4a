//! A doom loop between processes: `hook claude` under a rule about it.

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout};

fn payload(world: &World, event: &str, session: &str, command: &str) -> Vec<u8> {
    json!({
        "session_id": session, "transcript_path": "/x.jsonl", "cwd": world.project(),
        "permission_mode": "default", "hook_event_name": event,
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "toolu_1",
    })
    .to_string()
    .into_bytes()
}

fn decision(world: &World, session: &str, command: &str) -> String {
    let output = world.run(&["hook", "claude"], &payload(world, "PreToolUse", session, command));
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    found["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

/// DECISIONS 12: the third identical call requires approval.
#[test]
fn the_third_call_is_asked_about_where_a_rule_wants_it() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash\"]\nask = [\"DoomLoop\"]\n");
    let calls =
        [("s", "make"), ("s", "make"), ("t", "make"), ("s", "make"), ("s", "make"), ("s", "ls")];
    let found: Vec<_> =
        calls.iter().map(|(session, command)| decision(&world, session, command)).collect();
    assert_eq!(found, ["allow", "allow", "allow", "ask", "ask", "allow"]);
}

/// Else the hook would answer its own question.
#[test]
fn the_question_about_a_loop_is_left_to_the_person() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash\"]\nask = [\"DoomLoop\"]\n");
    let allows = || {
        let payload = payload(&world, "PermissionRequest", "s", "make");
        stdout(&world.run(&["hook", "claude"], &payload)).contains("allow")
    };
    for _ in 0..2 {
        decision(&world, "s", "make");
    }
    assert!(allows(), "no loop yet");
    decision(&world, "s", "make");
    assert!(!allows());
}

#[test]
fn without_a_rule_nothing_is_noted() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash\"]\n");
    for _ in 0..4 {
        assert_eq!(decision(&world, "s", "make"), "allow");
    }
    assert!(!world.root().join(".local/state/openoxide/repeats").exists());
}
