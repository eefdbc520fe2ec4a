//! The agents' own tools (`corpus/tools`): each is allowed, asked about, or judged by its input.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use crate::support::{World, stdout};

const CLIENTS: [(&str, &str); 2] = [
    ("claude-code", include_str!("../../../../corpus/tools/claude-code.tsv")),
    ("codex", include_str!("../../../../corpus/tools/codex.tsv")),
];

/// One row of a list.
struct Row<'a> {
    client: &'a str,
    tool: &'a str,
    class: &'a str,
    allowed: &'a str,
    asked: &'a str,
    why: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let parse = |client: &'static str, line: &'static str| {
        let fields: Vec<_> = line.split('\t').collect();
        let [tool, class, allowed, asked, why] = fields[..] else { panic!("{client}: {line}") };
        Row { client, tool, class, allowed, asked, why }
    };
    CLIENTS
        .into_iter()
        .flat_map(|(client, text)| text.lines().skip(1).map(move |line| parse(client, line)))
        .collect()
}

#[test]
fn a_tool_has_the_inputs_of_its_class_and_a_reason() {
    for row in rows() {
        let inputs = (!row.allowed.is_empty(), !row.asked.is_empty());
        let fits = match row.class {
            "harmless" => inputs == (true, false),
            "asks" => inputs == (false, true),
            "judged" => inputs.1,
            _ => false,
        };
        assert!(fits && !row.why.is_empty(), "{} {}", row.client, row.tool);
    }
}

#[test]
fn each_tool_is_decided_as_its_class_states() {
    let world = World::new();
    let rows = rows();
    let calls = rows.iter().flat_map(|row| {
        [("allow", row.allowed), ("ask", row.asked)]
            .into_iter()
            .filter(|(_, input)| !input.is_empty())
            .map(move |(expected, input)| (row, expected, input))
    });
    let calls: Vec<_> = calls.collect();
    let lines: String = calls
        .iter()
        .map(|(row, _, input)| {
            let input: Value = serde_json::from_str(input).unwrap();
            format!("{}\n", json!({ "tool": row.tool, "input": input }))
        })
        .collect();
    let output = stdout(&world.run(&["check", "--batch"], lines.as_bytes()));
    assert_eq!(output.lines().count(), calls.len(), "{output}");
    for ((row, expected, input), line) in calls.iter().zip(output.lines()) {
        let answer: Value = serde_json::from_str(line).unwrap();
        assert_eq!(answer["decision"], *expected, "{} {} {input}: {line}", row.client, row.tool);
    }
}

#[test]
fn a_rule_about_commands_holds_for_monitors() {
    let world = World::new().policy("[permissions]\ndeny = [\"Bash(tail *)\"]\n");
    let input = json!({ "command": "tail -f a.log", "description": "x", "timeout_ms": 1000 });
    let call = json!({ "tool": "Monitor", "input": input });
    let output = stdout(&world.run(&["check", "--batch"], format!("{call}\n").as_bytes()));
    let answer: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(answer["decision"], "deny", "{output}");
}

/// Decides a call of Claude Code that starts a subagent.
fn start_subagent(world: &World, input: &Value) -> Value {
    let call = json!({
        "session_id": "s", "transcript_path": "/x.jsonl", "cwd": world.project(),
        "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Agent",
        "tool_input": input, "tool_use_id": "toolu_1",
    });
    let output = stdout(&world.run(&["hook", "claude"], call.to_string().as_bytes()));
    let answer: Value = serde_json::from_str(&output).unwrap();
    answer["hookSpecificOutput"]["permissionDecision"].clone()
}

#[test]
fn a_call_that_loosens_the_mode_of_a_subagent_is_asked_about() {
    let world = World::new();
    let with = |key: &str, value: &str| {
        let mut input = json!({ "subagent_type": "Explore", "prompt": "x", "description": "x" });
        input[key] = json!(value);
        start_subagent(&world, &input)
    };
    assert_eq!(with("mode", "plan"), "allow");
    for mode in ["bypassPermissions", "acceptEdits", "auto", "dontAsk"] {
        assert_eq!(with("mode", mode), "ask", "{mode}");
    }
    for isolation in ["remote", "worktree"] {
        assert_eq!(with("isolation", isolation), "ask", "{isolation}");
    }
}

/// A definition can set the mode of a subagent, start servers and run hooks (Claude Code,
/// "Subagents").
#[test]
fn a_subagent_that_the_project_replaces_is_asked_about() {
    let world = World::new();
    let explore = json!({ "subagent_type": "Explore", "prompt": "x" });
    let agents = world.project().join(".claude/agents/team");
    fs::create_dir_all(&agents).unwrap();
    fs::write(agents.join("review.md"), "---\nname: review\n---\nReview.\n").unwrap();
    assert_eq!(start_subagent(&world, &explore), "allow");
    let definition = "---\nname: Explore\npermissionMode: bypassPermissions\n---\n";
    fs::write(agents.join("other.md"), definition).unwrap();
    assert_eq!(start_subagent(&world, &explore), "ask");
    let plan = json!({ "subagent_type": "Plan", "prompt": "x" });
    assert_eq!(start_subagent(&world, &plan), "allow");
    fs::remove_file(agents.join("other.md")).unwrap();
    symlink("..", agents.join("loop")).unwrap();
    assert_eq!(start_subagent(&world, &plan), "allow");
    symlink("/dev/zero", agents.join("zero.md")).unwrap();
    assert_eq!(start_subagent(&world, &plan), "ask", "a definition that cannot be read");
}
