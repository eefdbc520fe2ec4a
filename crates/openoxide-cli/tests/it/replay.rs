//! Replay of recorded decisions, and the recording of a person's choices.

use std::fs;

use serde_json::{Value, json};

use crate::{
    pending::{answer, ask, asked, end, id},
    prompt::Terminal,
    support::{World, code, stderr, stdout, workspace},
};

const RULES: &str = "[permissions]\nallow = [\"Bash(touch *)\"]\nask = [\"Bash(git push *)\"]\ndeny = [\"Bash(touch denied*)\"]\n";

fn call(world: &World, tool: &str, input: &Value) {
    let payload = json!({
        "session_id": "c6dc", "cwd": world.project(), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input,
    });
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

fn commands(world: &World, scripts: &[&str]) {
    for script in scripts {
        call(world, "Bash", &json!({ "command": script }));
    }
}

/// Returns the exit code, each difference as `tool call: old -> new, times`, and the counts.
fn replay(world: &World, args: &[&str]) -> (i32, Vec<String>, Value) {
    let output = world.run(&[&["audit", "replay", "--json"], args].concat(), b"");
    let text = stdout(&output);
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let counts = lines.pop().unwrap_or_else(|| panic!("{}", stderr(&output)));
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let line = |of: &Value| {
        let (tool, call) = (word(&of["tool"]), word(&of["call"]));
        format!("{tool} {call}: {} -> {}, {}", word(&of["old"]), word(&of["new"]), of["times"])
    };
    (code(&output), lines.iter().map(line).collect(), counts)
}

#[test]
fn under_the_same_policy_nothing_comes_out_otherwise() {
    let world = World::new().policy(RULES);
    commands(&world, &["touch a", "touch denied", "git push", "npm test", "cat $(x)", "rm -rf /"]);
    call(&world, "Read", &json!({ "file_path": "/etc/hosts" }));
    call(&world, "Read", &json!({ "file_path": world.project().join("x") }));
    call(
        &world,
        "Edit",
        &json!({ "file_path": world.project().join("x"), "old_string": "a", "new_string": "b" }),
    );
    call(&world, "WebFetch", &json!({ "url": "https://docs.rs/x", "prompt": "p" }));
    call(&world, "mcp__github__get_issue", &json!({}));
    call(&world, "Agent", &json!({ "subagent_type": "explore", "prompt": "p" }));
    world.run(&["run", "-c", "touch b"], b"");
    world.run(&["hook", "claude"], b"junk");
    let (exit, differences, counts) = replay(&world, &[]);
    assert_eq!((exit, differences), (0, vec![]), "{counts}");
    assert_eq!((&counts["same"], &counts["differ"]), (&json!(13), &json!(0)), "{counts}");
}

#[test]
fn differences_under_another_policy_are_shown_and_counted() {
    let world = World::new().policy(RULES);
    commands(&world, &["npm test", "npm test", "touch a", "git push", "touch denied"]);
    call(&world, "Read", &json!({ "file_path": "/etc/hosts" }));
    let expected = ["Bash npm test: ask -> allow, 2", "Bash touch a: allow -> deny, 1"];
    let (exit, differences, counts) =
        replay(&world, &["--allow", "Bash(npm *)", "--deny", "Bash(touch a)"]);
    assert_eq!((exit, differences), (1, expected.map(str::to_owned).to_vec()));
    assert_eq!((&counts["same"], &counts["differ"]), (&json!(3), &json!(3)));
    let changed = json!([
        { "old": "allow", "new": "deny", "count": 1 }, { "old": "ask", "new": "allow", "count": 2 },
    ]);
    assert_eq!(counts["changed"], changed);
    let other = world.file("other.toml", "[permissions]\nallow = [\"Read(//etc/hosts)\"]\n");
    let (exit, differences, _) = replay(&world, &["--policy", &other]);
    let expected = [
        "Bash touch a: allow -> ask, 1",
        "Bash touch denied: deny -> ask, 1",
        "Read Read /etc/hosts: ask -> allow, 1",
    ];
    assert_eq!((exit, differences), (1, expected.map(str::to_owned).to_vec()));
    assert_eq!(replay(&world, &["--policy", &other, "--since", "9999-01-01"]).0, 0);
    let output = world.run(&["audit", "replay", "--policy", &other, "--limit", "1"], b"");
    let text = stdout(&output);
    assert!(
        text.starts_with("6 recorded calls decided again: 3 unchanged, 3 different\n"),
        "{text}"
    );
    assert!(text.contains("\nallow -> ask  Bash  touch a  (once, last in record 3)\n  then: allow Bash(touch *) (user, "), "{text}");
    assert!(text.ends_with("\n2 more omitted; see --limit\n"), "{text}");
}

#[test]
fn redacted_truncated_and_hooked_records_are_counted_not_replayed() {
    let world = World::new().policy(&format!(
        "{RULES}[[hooks]]\nevent = \"pre_tool_use\"\nmatcher = \"Edit\"\ncommand = \"exit 2\"\n"
    ));
    let long = format!("npm test {}", "x".repeat(5_000));
    commands(&world, &["GH_TOKEN=ghp_0123456789abcdefghijABCDEFGHIJ012345 npm test", &long]);
    call(
        &world,
        "Edit",
        &json!({ "file_path": world.project().join("x"), "old_string": "a", "new_string": "b" }),
    );
    let (exit, differences, counts) = replay(&world, &["--deny", "Bash", "--deny", "Edit"]);
    assert_eq!((exit, differences), (0, vec![]), "{counts}");
    assert_eq!(
        (&counts["redacted"], &counts["hooks"], &counts["same"]),
        (&json!(2), &json!(1), &json!(0))
    );
    let text = stdout(&world.run(&["audit", "replay"], b""));
    assert!(text.contains("      2  skipped: redacted or truncated input"), "{text}");
}

#[test]
fn two_policies_are_compared_on_the_recorded_calls() {
    let world = World::new().policy(RULES);
    commands(&world, &["npm test", "npm test", "touch a", "git push"]);
    let old = world.file("old.toml", "[permissions]\nallow = [\"Bash(npm *)\"]\n");
    let new = world.file(
        "new.toml",
        "[permissions]\nallow = [\"Bash(npm *)\"]\ndeny = [\"Bash(npm test)\"]\n",
    );
    let diff = |args: &[&str]| {
        let output = world.run(&[&["rules", "diff", &old, &new], args].concat(), b"");
        (code(&output), stdout(&output))
    };
    let (exit, text) = diff(&["--history"]);
    let expected = "+ deny Bash(npm test)  (line 3)\n~ npm test: allow -> deny: `npm test` is denied by cli policy  (2 times)\n";
    assert_eq!((exit, text.as_str()), (1, expected));
    assert_eq!(diff(&["--history", "--since", "9999-01-01"]).1.lines().count(), 1);
    let line: Value =
        serde_json::from_str(diff(&["--history", "--json"]).1.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&line["kind"], &line["was"], &line["times"]),
        (&json!("history"), &json!("ask"), &json!(2))
    );
    assert_eq!(diff(&[]).1.lines().count(), 1);
}

#[test]
fn an_empty_journal_has_no_differences() {
    let world = World::new().policy(RULES);
    let (exit, differences, counts) = replay(&world, &[]);
    assert_eq!((exit, differences.len(), &counts["same"]), (0, 0, &json!(0)));
}

/// Recorded by the program as it was before choices were written down.
#[test]
fn records_of_before_are_read_and_verified() {
    let world = World::new();
    let place = world.root().join(".local/state/openoxide/audit");
    fs::create_dir_all(&place).unwrap();
    let corpus = workspace().join("corpus/audit/before-terms.ndjson");
    fs::copy(corpus, place.join("journal.ndjson")).unwrap();
    let verified = stdout(&world.run(&["audit", "verify"], b""));
    assert!(verified.starts_with("13 records, 1 to 13: all intact\n"), "{verified}");
    let log = stdout(&world.run(&["audit", "log"], b""));
    assert_eq!(log.matches("ask, approved").count(), 2, "{log}");
    assert!(!log.contains("saved for"), "the records contain no scope: {log}");
    let counts = replay(&world, &["--allow", "Bash(touch *)", "--deny", "Bash(touch denied*)"]);
    assert_eq!((counts.0, &counts.2["same"], &counts.2["redacted"]), (0, &json!(9), &json!(1)));
    commands(&world, &["touch a"]);
    assert!(stdout(&world.run(&["audit", "verify"], b"")).starts_with("14 records"));
}

/// Recorded by the program as it was before the fields of records got their present names.
#[test]
fn records_with_old_names_are_shown_verified_and_continued() {
    let world = World::new();
    let place = world.root().join(".local/state/openoxide/audit");
    fs::create_dir_all(&place).unwrap();
    let corpus = workspace().join("corpus/audit/before-names.ndjson");
    let recorded = fs::read_to_string(corpus).unwrap();
    fs::write(place.join("journal.ndjson"), &recorded).unwrap();
    let verified = stdout(&world.run(&["audit", "verify"], b""));
    assert!(verified.starts_with("23 records, 1 to 23: all intact\n"), "{verified}");
    // The expected words are the values in the file: `kept`, `said`, `held`, `refused` and `cut`.
    let log = stdout(&world.run(&["audit", "log"], b""));
    for expected in [
        "saved for the project: Bash(make one) (narrower), for 1800 s, 5 times, below /home/ann/project\n",
        "hook guard.sh: deny: so it is\n",
        "ended: exit 0 after 0.259 s, confined; refused: reading `/home/ann/.ssh/id_rsa`\n",
        "removed 33 bytes of an incomplete record, whose writer was killed\n",
    ] {
        assert!(log.contains(expected), "{expected}: {log}");
    }
    // jq 'select(.record=="decision" and .via!="approve" and .via!="deny") | .decision'
    let stats = stdout(&world.run(&["audit", "stats", "--days", "3650", "--json"], b""));
    let stats: Value = serde_json::from_str(&stats).unwrap();
    assert_eq!(stats["decisions"], json!({ "allow": 4, "ask": 5, "deny": 2 }));
    commands(&world, &["touch a"]);
    let verified = stdout(&world.run(&["audit", "verify"], b""));
    assert!(verified.starts_with("24 records, 1 to 24: all intact\n"), "{verified}");
    let journal = fs::read_to_string(place.join("journal.ndjson")).unwrap();
    let added = journal.strip_prefix(&recorded).expect("the old records are unchanged");
    let added: Value = serde_json::from_str(added).unwrap();
    assert_eq!((&added["seq"], &added["confinement"]), (&json!(24), &json!("not confined")));
    assert_eq!((added.get("enforced"), added["accesses"][0].get("what")), (None, None));
    assert_eq!(added["accesses"][0]["summary"], "touch a");
    // A record that is changed is still found.
    fs::write(
        place.join("journal.ndjson"),
        journal.replacen("\"seconds\":1800", "\"seconds\":1801", 1),
    )
    .unwrap();
    let verified = world.run(&["audit", "verify"], b"");
    assert_eq!(code(&verified), 1, "{}", stdout(&verified));
    assert!(stdout(&verified).contains("record 6:"), "{}", stdout(&verified));
}

/// Returns the answer in the record of the last decision, and the line that a person is shown.
fn recorded(world: &World) -> (Value, String) {
    let text = stdout(&world.run(&["audit", "log", "--json"], b""));
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let last = records.rfind(|record| record["record"] == "decision").unwrap();
    let log = stdout(&world.run(&["audit", "log"], b""));
    let kept = log.lines().rfind(|line| line.contains("saved for")).unwrap_or_default();
    (last["answer"].clone(), kept.trim().to_owned())
}

fn keys(world: &World, keys: &[&str]) {
    let mut terminal = Terminal::run(world, &["run", "-c", "touch one"]);
    terminal.wait_for("[p]");
    for key in keys {
        std::thread::sleep(std::time::Duration::from_millis(300));
        terminal.press(key);
    }
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
}

#[test]
fn the_choice_of_a_person_is_recorded() {
    let world = World::new();
    keys(&world, &["p", "1", "5"]);
    let (answer, shown) = recorded(&world);
    let kept = json!({ "breadth": "narrower", "rules": ["Bash(touch one)"], "max_uses": 5 });
    assert_eq!((&answer["scope"], &answer["grant"]), (&json!("project"), &kept));
    assert_eq!(shown, "saved for the project: Bash(touch one) (narrower), 5 times");
    let world = World::new();
    keys(&world, &["p", "b"]);
    let (answer, shown) = recorded(&world);
    let kept =
        json!({ "breadth": "suggested", "rules": ["Bash(touch *)"], "directory": world.project() });
    assert_eq!((&answer["scope"], &answer["grant"]), (&json!("project"), &kept));
    let below = world.project().display().to_string();
    assert_eq!(shown, format!("saved for the project: Bash(touch *) (as offered), below {below}"));
    let listed = stdout(&world.run(&["grants", "list"], b""));
    assert_eq!(listed, format!("  1  Bash(touch *), below {below}\n"));
    let world = World::new();
    keys(&world, &["a"]);
    let (answer, shown) = recorded(&world);
    assert_eq!((&answer["scope"], &answer["grant"]), (&json!("session"), &Value::Null));
    assert_eq!(shown, "saved for the session: this exact action");
    let world = World::new();
    keys(&world, &["y"]);
    assert_eq!((&recorded(&world).0["scope"], recorded(&world).1.as_str()), (&json!("once"), ""));
}

#[test]
fn a_choice_from_elsewhere_is_recorded_by_both() {
    let world = World::new();
    let asker = ask(&world, &["-c", "touch one"]);
    let request = asked(&world, "touch one");
    let words = ["approve", id(&request), "--scope", "project", "--for", "1h"];
    assert_eq!(answer(&world, &words).0, 0);
    end(asker);
    let kept = "saved for the project: Bash(touch *) (as offered), for 3600 s";
    for (args, rows) in [(&["--all-records"][..], 2), (&[], 1)] {
        let log = stdout(&world.run(&[&["audit", "log"], args].concat(), b""));
        assert_eq!(log.matches(kept).count(), rows, "{log}");
    }
}
