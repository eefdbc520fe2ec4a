//! Tests of `allow`: the rule for the last call that required approval, and its effect on the
//! decisions of a real hook.

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    prompt::Terminal,
    support::{World, code, stderr, stdout},
};

/// Decides a call as the hook of Claude Code, in a directory and a mode.
fn decide_in(world: &World, cwd: &Path, mode: &str, tool: &str, input: &Value) -> String {
    let payload = json!({
        "session_id": "c6dc", "transcript_path": "/x.jsonl", "cwd": cwd,
        "permission_mode": mode, "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "t",
    });
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    assert!(output.status.success(), "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    found["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned()
}

fn decide(world: &World, tool: &str, input: &Value) -> String {
    decide_in(world, &world.project(), "default", tool, input)
}

fn decide_command(world: &World, command: &str) -> String {
    decide(world, "Bash", &json!({ "command": command }))
}

/// Saves the rules of the last call, named by the number that `allow last` prints.
fn allow_last(world: &World, options: &[&str]) -> std::process::Output {
    let shown = stderr(&world.run(&["--no-input", "allow", "last"], b""));
    let number = shown.split_once("record ").and_then(|(_, rest)| rest.split(',').next());
    let number = number.unwrap_or_else(|| panic!("no record: {shown}"));
    world.run(&[&["allow", number, "--yes"], options].concat(), b"")
}

fn grants(world: &World) -> String {
    stdout(&world.run(&["grants", "list"], b""))
}

/// The files in which a rule could be saved.
fn saved_files(world: &World) -> Vec<Option<String>> {
    let own = world.project().join(".openoxide");
    let files = [world.user_policy(), own.join("policy.toml"), own.join("approvals.toml")];
    files.into_iter().map(|path| fs::read_to_string(path).ok()).collect()
}

#[test]
fn the_last_call_is_not_asked_about_again_in_this_project() {
    let world = World::new();
    assert_eq!(decide_command(&world, "make lint"), "ask");
    assert_eq!(decide_command(&world, "touch a && mkdir b"), "ask");
    let output = allow_last(&world, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(stdout(&output), "allow Bash(touch *)\nallow Bash(mkdir *)\n");
    assert!(stderr(&output).contains("touch a && mkdir b"), "{}", stderr(&output));
    assert_eq!(decide_command(&world, "touch a && mkdir b"), "allow");
    assert_eq!(decide_command(&world, "touch c"), "allow");
    assert_eq!(decide_command(&world, "make lint"), "ask", "an earlier question");
    let other = world.root().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let input = json!({ "command": "touch a" });
    assert_eq!(decide_in(&world, &other, "default", "Bash", &input), "ask", "another project");
    // The last question is now in the other project.
    let output = world.run(&["allow", "last", "--print"], b"");
    assert_eq!(stdout(&output), "allow Bash(make lint *)\n");
}

/// The last call may be newer than the one that the person has seen.
#[test]
fn without_a_question_the_call_is_named_by_its_number() {
    let world = World::new();
    assert_eq!(decide_command(&world, "make lint"), "ask");
    for (options, option) in [
        (&[][..], ""),
        (&["--user"], " --user"),
        (&["--scope", "user"], " --user"),
        (&["--local"], " --local"),
    ] {
        let output = world.run(&[&["allow", "last", "--yes"], options].concat(), b"");
        assert_eq!(code(&output), 2, "{}", stdout(&output));
        let command = format!("to save `Bash(make lint *)`: `openoxide allow 1{option} --yes`\n");
        assert!(stderr(&output).contains(&command), "{}", stderr(&output));
        assert!(stderr(&output).contains("\n  make lint\n"), "{}", stderr(&output));
        let silent = world.run(&[&["--no-input", "allow", "last"], options].concat(), b"");
        assert_eq!(code(&silent), 4, "{}", stdout(&silent));
        assert!(stderr(&silent).contains(&command), "{}", stderr(&silent));
    }
    assert_eq!(saved_files(&world), [None, None, None]);
    assert_eq!(code(&world.run(&["allow", "1", "--yes"], b"")), 0);
    assert_eq!(decide_command(&world, "make lint"), "allow");
}

#[test]
fn a_policy_file_can_be_named() {
    let world = World::new();
    let fetch = json!({ "url": "https://docs.example.org/a", "prompt": "x" });
    let read = json!({ "file_path": "/opt/data/a [1].txt" });
    for (tool, input) in [("WebFetch", &fetch), ("Read", &read), ("mcp__github__list", &json!({}))]
    {
        assert_eq!(decide(&world, tool, input), "ask", "{tool}");
        let refused = allow_last(&world, &[]);
        assert_eq!(code(&refused), 2, "{tool}: only command rules are grants");
        assert!(stderr(&refused).contains("`--user`"), "{}", stderr(&refused));
        assert_eq!(decide(&world, tool, input), "ask", "{tool}");
        let output = allow_last(&world, &["--user"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_eq!(decide(&world, tool, input), "allow", "{tool}");
    }
    let other = json!({ "url": "https://example.org/a", "prompt": "x" });
    assert_eq!(decide(&world, "WebFetch", &other), "ask");
    assert_eq!(decide(&world, "Edit", &read), "ask");
    let policy = fs::read_to_string(world.user_policy()).unwrap();
    assert!(policy.contains("reason = \"saved with `openoxide allow` on 20"), "{policy}");
    assert_eq!(grants(&world), "");
}

#[test]
fn the_scope_selects_the_project_or_all_projects() {
    let world = World::new();
    assert_eq!(decide_command(&world, "make lint"), "ask");
    let other = world.root().join("other");
    fs::create_dir_all(other.join(".git")).unwrap();
    let input = json!({ "command": "make lint" });
    let decide_both = || {
        let elsewhere = decide_in(&world, &other, "default", "Bash", &input);
        [decide_command(&world, "make lint"), elsewhere]
    };
    let allow =
        |options: &[&str]| code(&world.run(&[&["allow", "1", "--yes"], options].concat(), b""));
    assert_eq!(allow(&["--scope", "project", "--user"]), 2);
    assert_eq!(allow(&["--scope", "project"]), 0);
    assert_eq!(decide_both(), ["allow", "ask"]);
    assert_eq!(code(&world.run(&["grants", "revoke", "1"], b"")), 0);
    assert_eq!(allow(&["--scope", "user"]), 0);
    assert_eq!(decide_both(), ["allow", "allow"]);
}

#[test]
fn a_rule_of_the_project_requires_trust() {
    let world = World::new();
    assert_eq!(decide_command(&world, "make lint"), "ask");
    for _ in 0..2 {
        let output = allow_last(&world, &["--project"]);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert!(stderr(&output).contains("still requires approval"), "{}", stderr(&output));
        assert!(stderr(&output).contains("openoxide trust"), "{}", stderr(&output));
    }
    let policy = fs::read_to_string(world.project().join(".openoxide/policy.toml")).unwrap();
    assert_eq!(policy.matches("make lint *").count(), 1, "{policy}");
    assert_eq!(decide_command(&world, "make lint"), "ask");
}

/// Guards I10.
#[test]
fn what_no_prompt_offers_to_remember_is_not_saved() {
    let world = World::new().policy(
        "[permissions]\nask = [\"Bash(touch asked)\"]\ndeny = [\"Bash(touch denied)\"]\n\
         [[permissions.rule]]\npermission = \"bash\"\npattern = \"touch human\"\naction = \"ask\"\n\
         reviewer = \"human\"\n",
    );
    fs::write(world.project().join(".env"), "S=1\n").unwrap();
    for command in [
        "cat .env",
        "touch asked",
        "make && touch asked",
        "touch human",
        "echo x > .git/hooks/pre-commit",
        "eval \"$X\"",
        "rm -rf ~",
        "openoxide allow last --yes",
        "curl -H 'Authorization: Bearer 0123456789abcdef0123' https://example.org",
    ] {
        assert_eq!(decide_command(&world, command), "ask", "{command}");
        let before = saved_files(&world);
        for target in [&[][..], &["--user"], &["--project"]] {
            let output = allow_last(&world, target);
            assert_eq!(code(&output), 1, "{command}: {}", stderr(&output));
            assert!(stderr(&output).contains("no rule is offered"), "{}", stderr(&output));
        }
        assert_eq!(saved_files(&world), before, "{command}");
        assert_eq!(decide_command(&world, command), "ask", "{command}");
    }
    // A denied call is not the last question.
    assert_eq!(decide_command(&world, "make lint"), "ask");
    assert_eq!(decide_command(&world, "touch denied"), "deny");
    assert_eq!(stdout(&world.run(&["allow", "last", "--print"], b"")), "allow Bash(make lint *)\n");
}

/// A command for which Claude Code should turn its own sandbox off needs more than its rule.
#[test]
fn a_request_to_leave_the_sandbox_is_not_remembered() {
    let world = World::new();
    let input = json!({ "command": "make lint", "dangerouslyDisableSandbox": true });
    assert_eq!(decide(&world, "Bash", &input), "ask");
    let output = allow_last(&world, &[]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    assert!(stderr(&output).contains("also requires the tool"), "{}", stderr(&output));
    assert_eq!(grants(&world), "");
}

#[test]
fn a_call_that_is_denied_because_nobody_is_asked_can_be_allowed() {
    let world = World::new();
    let input = json!({ "command": "make lint" });
    let decide = || decide_in(&world, &world.project(), "dontAsk", "Bash", &input);
    assert_ne!(decide(), "allow");
    let output = allow_last(&world, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(decide(), "allow");
}

#[test]
fn a_person_confirms_the_rule() {
    let world = World::new();
    assert_eq!(decide_command(&world, "make lint"), "ask");
    let silent = world.run(&["allow", "last"], b"y\n");
    assert_eq!(code(&silent), 4, "{}", stderr(&silent));
    let silent = world.run(&["--no-input", "allow", "last", "--user"], b"");
    assert_eq!(code(&silent), 4, "{}", stderr(&silent));
    assert_eq!(saved_files(&world), [None, None, None]);
    let answer = |key: &str| {
        let mut terminal = Terminal::run(&world, &["allow", "last"]);
        terminal.wait_for("+allow Bash(make lint *)");
        terminal.wait_for("[y]");
        terminal.press(key);
        terminal.end()
    };
    let (status, text) = answer("n");
    assert_eq!((status, saved_files(&world)), (3, vec![None, None, None]), "{text}");
    let (status, text) = answer("y");
    assert_eq!(status, 0, "{text}");
    assert_eq!(decide_command(&world, "make lint"), "allow");
    let again = world.run(&["allow", "last"], b"");
    assert_eq!(code(&again), 0);
    assert!(stderr(&again).contains("allowed already"), "{}", stderr(&again));
}

#[test]
fn a_record_can_be_named_by_its_number() {
    let world = World::new();
    assert_eq!(decide_command(&world, "make lint"), "ask");
    assert_eq!(decide_command(&world, "touch a"), "ask");
    assert_eq!(stdout(&world.run(&["allow", "1", "--print"], b"")), "allow Bash(make lint *)\n");
    let output = world.run(&["allow", "1", "--print", "--json"], b"");
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let expected = json!({
        "schema": 1, "record": 1, "tool": "Bash", "call": "make lint",
        "rules": ["Bash(make lint *)"], "saved": false,
    });
    assert_eq!(found, expected);
    assert_eq!(code(&world.run(&["allow", "9", "--yes"], b"")), 1);
    assert_eq!(code(&world.run(&["allow", "first"], b"")), 2);
    assert_eq!(grants(&world), "");
}

/// Guards I10.
#[test]
fn a_program_in_the_sandbox_saves_nothing() {
    let world = World::in_place(Path::new(env!("CARGO_TARGET_TMPDIR")));
    assert_eq!(decide_command(&world, "make lint"), "ask");
    let before = saved_files(&world);
    let program = crate::support::OPENOXIDE;
    for target in [&[][..], &["--user"], &["--project"], &["--local"]] {
        let words = ["sandbox", "run", "--", program, "allow", "last", "--yes"];
        let output = world.run(&[&words, target].concat(), b"");
        assert_ne!(code(&output), 0, "{}", stdout(&output));
        assert_eq!(saved_files(&world), before, "{}", stderr(&output));
    }
    assert_eq!(decide_command(&world, "make lint"), "ask");
}
