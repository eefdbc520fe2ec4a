//! Tests of `rules suggest`: the rules that would have answered recorded questions, and their
//! effect on the decisions of a real hook.

use std::fs;

use serde_json::{Value, json};

use crate::{
    pending::{answer, ask, asked, end, id},
    prompt::Terminal,
    support::{World, code, stderr, stdout},
};

fn payload(
    world: &World,
    event: &str,
    session: &str,
    id: &str,
    tool: &str,
    input: &Value,
) -> Value {
    json!({
        "session_id": session, "transcript_path": "/x.jsonl", "cwd": world.project(),
        "permission_mode": "default", "hook_event_name": event,
        "tool_name": tool, "tool_input": input, "tool_use_id": id,
    })
}

fn decide_as(world: &World, session: &str, id: &str, tool: &str, input: &Value) -> String {
    let payload = payload(world, "PreToolUse", session, id, tool, input);
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    found["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

/// Decides a command as the hook of Claude Code. Each call has a name of its own.
fn decide(world: &World, command: &str) -> String {
    let journal = stdout(&world.run(&["audit", "log", "--all-records", "--json"], b""));
    let id = journal.lines().count().to_string();
    decide_as(world, "s", &id, "Bash", &json!({ "command": command }))
}

fn ask_about(world: &World, commands: &[&str]) {
    for command in commands {
        assert_eq!(decide(world, command), "ask", "{command}");
    }
}

fn suggest(world: &World, options: &[&str]) -> Value {
    let output = world.run(&[&["rules", "suggest", "--json"], options].concat(), b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

fn rules(world: &World, options: &[&str]) -> Vec<String> {
    let rules = suggest(world, options)["rules"].clone();
    let text = |rule: &Value| rule["rule"].as_str().unwrap().to_owned();
    rules.as_array().unwrap().iter().map(text).collect()
}

#[test]
fn the_rules_with_the_most_answers_come_first() {
    let world = World::new();
    let empty = suggest(&world, &[]);
    assert_eq!((&empty["rules"], &empty["questions"]), (&json!([]), &json!(0)));
    ask_about(&world, &["npm run build", "npm run build -- -w", "npm run build", "make lint"]);
    ask_about(&world, &["touch a && mkdir b", "npm run build", "ls; eval \"$X\""]);
    let found = suggest(&world, &[]);
    assert_eq!((&found["questions"], &found["answered"]), (&json!(7), &json!(6)));
    assert_eq!(found["coverage"], 85);
    let first = json!({
        "rule": "Bash(npm run build *)", "would_have_answered": 4,
        "examples": ["npm run build", "npm run build -- -w"],
    });
    assert_eq!(found["rules"][0], first);
    let all = rules(&world, &[]);
    let others = ["Bash(make lint *)", "Bash(mkdir *)", "Bash(touch *)"];
    assert_eq!(all[1..], others);
    // Four of seven questions are 57 %.
    assert_eq!(rules(&world, &["--cover", "57"]), ["Bash(npm run build *)"]);
    assert_eq!(rules(&world, &["--cover", "58"]), ["Bash(npm run build *)", "Bash(make lint *)"]);
    assert_eq!(rules(&world, &["--since", "0s"]), [""; 0]);
    assert_eq!(code(&world.run(&["rules", "suggest", "--cover", "0"], b"")), 2);
}

/// An agent calls its hook again when it asks, and each hook of its settings.
#[test]
fn a_call_is_counted_once() {
    let world = World::new();
    let input = json!({ "command": "make lint" });
    for event in ["PreToolUse", "PreToolUse", "PermissionRequest"] {
        let mut call = payload(&world, event, "s", "t1", "Bash", &input);
        if event == "PermissionRequest" {
            call.as_object_mut().unwrap().remove("tool_use_id");
        }
        assert!(world.run(&["hook", "claude"], call.to_string().as_bytes()).status.success());
    }
    assert_eq!(suggest(&world, &[])["questions"], 1);
}

#[test]
fn a_rule_that_matches_a_denied_call_is_not_suggested() {
    let world = World::new();
    ask_about(&world, &["touch a", "touch b", "make lint", "npm test", "mkdir c; touch d"]);
    let asker = ask(&world, &["-c", "make && touch z"]);
    let request = asked(&world, "make && touch z");
    answer(&world, &["deny", id(&request)]);
    end(asker);
    let found = suggest(&world, &[]);
    assert_eq!(rules(&world, &[]), ["Bash(make lint *)", "Bash(npm test *)"]);
    assert_eq!(found["denied_rules"], 1, "{found}");
    // A denial stays valid, however old it is.
    assert_eq!(rules(&world, &["--since", "0s"]), [""; 0]);
}

/// Without a report of its end, a call may have been denied in the dialog of the agent.
#[test]
fn a_call_that_did_not_end_counts_as_denied_if_the_agent_reports_ends() {
    let world = World::new();
    let run = |id: &str, command: &str, is_reported: bool| {
        let input = json!({ "command": command });
        decide_as(&world, "s", id, "Bash", &input);
        if is_reported {
            let report = payload(&world, "PostToolUse", "s", id, "Bash", &input);
            world.run(&["hook", "claude"], report.to_string().as_bytes());
        }
    };
    run("1", "make lint", false);
    assert_eq!(rules(&world, &[]), ["Bash(make lint *)"], "it reports nothing");
    run("2", "ls", true);
    assert_eq!(rules(&world, &[]), [""; 0]);
}

/// A denial in the dialog of the agent ends the session without any report.
#[test]
fn a_call_of_a_session_without_reports_counts_as_denied_if_the_agent_reports_ends() {
    let world = World::new();
    let input = json!({ "command": "ls" });
    decide_as(&world, "s", "1", "Bash", &input);
    let report = payload(&world, "PostToolUse", "s", "1", "Bash", &input);
    world.run(&["hook", "claude"], report.to_string().as_bytes());
    decide_as(&world, "t", "1", "Bash", &json!({ "command": "make lint" }));
    assert_eq!(rules(&world, &[]), [""; 0]);
}

/// The rules that were offered for the denied call are not those that are offered now.
#[test]
fn a_denial_in_a_project_with_a_broken_policy_is_known() {
    let world = World::new();
    let other = world.root().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let mut denied = payload(
        &world,
        "PreToolUse",
        "t",
        "1",
        "Bash",
        &json!({ "command": "make lint; eval \"$X\"" }),
    );
    denied["cwd"] = json!(other);
    world.run(&["hook", "claude"], denied.to_string().as_bytes());
    let input = json!({ "command": "make lint" });
    decide_as(&world, "s", "1", "Bash", &input);
    let report = payload(&world, "PostToolUse", "s", "1", "Bash", &input);
    world.run(&["hook", "claude"], report.to_string().as_bytes());
    assert_eq!(rules(&world, &[]), [""; 0]);
    fs::create_dir(other.join(".openoxide")).unwrap();
    fs::write(other.join(".openoxide/policy.toml"), "[permissions\n").unwrap();
    assert_eq!(rules(&world, &[]), [""; 0]);
}

/// Guards I10.
#[test]
fn what_the_safety_floor_or_a_rule_asks_about_is_not_suggested() {
    let world = World::new().policy(
        "[permissions]\nask = [\"Bash(touch asked)\"]\n\
         [[permissions.rule]]\npermission = \"bash\"\npattern = \"touch human\"\naction = \"ask\"\n\
         reviewer = \"human\"\n",
    );
    fs::write(world.project().join(".env"), "S=1\n").unwrap();
    let asked = [
        "cat .env",
        "touch asked",
        "touch human",
        "make && touch asked",
        "echo x > .git/hooks/pre-commit",
        "eval \"$X\"",
        "rm -rf ~",
        "openoxide rules suggest --write --yes",
    ];
    ask_about(&world, &asked);
    let found = suggest(&world, &[]);
    assert_eq!(found["rules"], json!([]));
    assert_eq!((&found["questions"], &found["coverage"]), (&json!(asked.len()), &json!(0)));
    let output = world.run(&["rules", "suggest", "--write", "--yes"], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    ask_about(&world, &asked);
}

#[test]
fn written_rules_answer_the_questions() {
    let world = World::new().policy("# mine\n[permissions]\ndeny = [\"Bash(rm *)\"]\n");
    let fetch = json!({ "url": "https://docs.example.org/a", "prompt": "x" });
    assert_eq!(decide_as(&world, "s", "f", "WebFetch", &fetch), "ask");
    let commands = ["npm run build -- -w", "touch a && mkdir b"];
    ask_about(&world, &commands);
    let before = fs::read_to_string(world.user_policy()).unwrap();
    let silent = world.run(&["rules", "suggest", "--write"], b"y\n");
    assert_eq!(code(&silent), 4, "{}", stderr(&silent));
    assert!(stderr(&silent).contains("+pattern = \"npm run build *\""), "{}", stderr(&silent));
    let mut terminal = Terminal::run(&world, &["rules", "suggest", "--write"]);
    terminal.wait_for("[y]");
    terminal.press("n");
    assert_eq!(terminal.end().0, 3);
    assert_eq!(fs::read_to_string(world.user_policy()).unwrap(), before);

    let output = world.run(&["rules", "suggest", "--write", "--yes"], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let after = fs::read_to_string(world.user_policy()).unwrap();
    assert!(after.starts_with(&before), "{after}");
    for command in commands {
        assert_eq!(decide(&world, command), "allow", "{command}");
    }
    assert_eq!(decide_as(&world, "s", "g", "WebFetch", &fetch), "allow");
    assert_eq!(decide(&world, "rm a"), "deny");
    assert_eq!(suggest(&world, &[])["questions"], 0);
}

/// The file may change while a person reads the question.
#[test]
fn a_policy_that_has_changed_in_the_meantime_is_not_overwritten() {
    let world = World::new();
    ask_about(&world, &["make lint"]);
    let mut terminal = Terminal::run(&world, &["rules", "suggest", "--write"]);
    terminal.wait_for("[y]");
    let added = world.run(&["rules", "add", "deny", "Bash(make *)"], b"");
    assert_eq!(code(&added), 0, "the file is not locked: {}", stderr(&added));
    let policy = fs::read_to_string(world.user_policy()).unwrap();
    terminal.press("y");
    let (status, text) = terminal.end();
    assert_eq!(status, 1, "{text}");
    assert_eq!(fs::read_to_string(world.user_policy()).unwrap(), policy);
    assert_eq!(decide(&world, "make lint"), "deny");
}
