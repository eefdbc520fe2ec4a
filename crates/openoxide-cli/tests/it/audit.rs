//! Tests of the audit journal from outside: the records of `hook` and `run`, what happens to them,
//! and how they are read.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Write as _},
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::support::{OPENOXIDE, World, code, stderr, stdout};

const POLICY: &str = "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(touch denied*)\"]\nask = [\"Bash(git push *)\"]\n";

fn payload(world: &World, session: &str, command: &str) -> Vec<u8> {
    json!({
        "session_id": session, "cwd": world.project(), "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": "Bash",
        "tool_input": { "command": command }, "tool_use_id": "toolu_1",
    })
    .to_string()
    .into_bytes()
}

/// Runs the hook for a command, and returns its answer.
fn hook(world: &World, command: &str) -> String {
    let output = world.run(&["hook", "claude"], &payload(world, "c6dc", command));
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    stdout(&output)
}

fn journal(world: &World) -> PathBuf {
    world.root().join(".local/state/openoxide/audit/journal.ndjson")
}

/// Returns the records that `audit log --json` prints with these arguments.
fn log(world: &World, args: &[&str]) -> Vec<Value> {
    let output = world.run(&[&["audit", "log", "--json"], args].concat(), b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verify(world: &World) -> (i32, Value) {
    let output = world.run(&["audit", "verify", "--json"], b"");
    (code(&output), serde_json::from_str(&stdout(&output)).unwrap())
}

fn text(world: &World, args: &[&str]) -> String {
    let output = world.run(args, b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    stdout(&output)
}

#[test]
fn every_decision_of_a_hook_is_written_down_with_its_grounds() {
    let world = World::new().policy(POLICY);
    for command in ["touch a", "touch denied", "git push origin", "npm publish"] {
        hook(&world, command);
    }
    world.run(&["hook", "claude"], b"junk");
    let records = log(&world, &[]);
    let decisions: Vec<_> =
        records.iter().map(|record| record["decision"].as_str().unwrap()).collect();
    assert_eq!(decisions, ["allow", "deny", "ask", "ask", "ask"]);
    let denied = &records[1];
    assert_eq!(denied["schema"], 1);
    assert_eq!((&denied["via"], &denied["agent"]), (&json!("hook"), &json!("claude")));
    assert_eq!((&denied["session"], &denied["call"]), (&json!("c6dc"), &json!("toolu_1")));
    assert_eq!((&denied["tool"], &denied["title"]), (&json!("Bash"), &json!("touch denied")));
    let rule = json!({ "layer": "user", "file": world.user_policy(), "line": 3, "text": "deny Bash(touch denied*)" });
    assert_eq!(denied["rule"], rule);
    assert_eq!(
        (&denied["mode"], &denied["confinement"]),
        (&json!("default"), &json!("not confined"))
    );
    let accesses: Vec<_> = denied["accesses"]
        .as_array()
        .unwrap()
        .iter()
        .map(|a| (&a["access"], &a["summary"], &a["decision"]))
        .collect();
    assert!(
        accesses.contains(&(&json!("bash"), &json!("touch denied"), &json!("deny"))),
        "{accesses:?}"
    );
    assert!(records[4]["reason"].as_str().unwrap().contains("not a JSON object"));
    assert_eq!(verify(&world).0, 0);
}

#[test]
fn check_and_explain_are_not_recorded() {
    let world = World::new().policy(POLICY);
    text(&world, &["check", "-c", "touch a"]);
    text(&world, &["explain", "-c", "touch a"]);
    assert!(!world.root().join(".local").exists());
}

#[test]
fn a_run_is_written_down_with_its_end() {
    let world = World::new().policy(POLICY);
    for (script, expected) in [("touch a; exit 7", 7), ("npm publish", 4), ("touch denied", 126)] {
        assert_eq!(code(&world.run(&["run", "-c", script], b"")), expected, "{script}");
    }
    let records = log(&world, &[]);
    let kinds: Vec<_> = records
        .iter()
        .map(|of| (of["record"].as_str().unwrap(), of["decision"].as_str()))
        .collect();
    let expected = [
        ("decision", Some("allow")),
        ("outcome", None),
        ("decision", Some("ask")),
        ("decision", Some("deny")),
    ];
    assert_eq!(kinds, expected);
    assert_eq!((&records[1]["decision_seq"], &records[1]["status"]), (&json!(1), &json!(7)));
    assert!(records[1]["duration_ms"].is_u64());
    assert_eq!((&records[0]["via"], &records[0]["agent"]), (&json!("run"), &json!("person")));
}

#[test]
fn how_a_command_ended_without_a_status_is_written_down() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash\"]\n");
    assert_eq!(code(&world.run(&["run", "--", "no-such-program-here"], b"")), 127);
    assert_eq!(code(&world.run(&["run", "-c", "kill -9 $$"], b"")), 137);
    let records = log(&world, &[]);
    assert!(records[1]["error"].is_string() && records[1]["status"].is_null(), "{}", records[1]);
    assert_eq!((&records[3]["signal"], &records[3]["status"]), (&json!(9), &Value::Null));
}

/// Guards I33.
#[test]
fn no_secret_reaches_the_journal() {
    let world = World::new().policy(POLICY);
    let secrets = ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "hunter2hunter2"];
    hook(&world, &format!("git push https://me:{}@x.io/a", secrets[1]));
    hook(&world, &format!("GH_TOKEN={} npm publish", secrets[0]));
    hook(&world, &format!("touch {}", secrets[0]));
    let written = fs::read_to_string(journal(&world)).unwrap();
    assert!(secrets.iter().all(|secret| !written.contains(secret)), "{written}");
    assert!(written.matches("[redacted]").count() >= 3);
}

/// Guards I28.
#[test]
fn many_at_once_all_get_their_place_in_the_chain() {
    let world = World::new().policy(POLICY);
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let world = &world;
            scope.spawn(move || {
                for number in 0..200 {
                    hook(world, &format!("touch {writer}-{number}"));
                }
            });
        }
    });
    let (exit, verdict) = verify(&world);
    assert_eq!((exit, &verdict["records"]), (0, &json!(1600)), "{verdict}");
    let records = log(&world, &[]);
    let mut titles: Vec<_> =
        records.iter().map(|record| record["title"].as_str().unwrap()).collect();
    titles.sort_unstable();
    titles.dedup();
    assert_eq!(titles.len(), 1600);
}

#[test]
fn writers_that_are_killed_leave_a_journal_that_goes_on() {
    let world = World::new().policy(POLICY);
    let input = payload(&world, "c6dc", "touch a && npm publish && git push");
    let mut whole = 0;
    for round in 0..300_u64 {
        let mut command = world.command(&["hook", "claude"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(&input).unwrap();
        // From before it has begun to after it has ended.
        std::thread::sleep(Duration::from_micros(round * 37 % 6_000));
        child.kill().unwrap();
        whole += u64::from(child.wait().unwrap().success());
    }
    hook(&world, "touch z");
    let (exit, verdict) = verify(&world);
    assert_eq!((exit, &verdict["unfinished"]), (0, &json!(0)), "{verdict}");
    assert!(verdict["records"].as_u64().unwrap() > whole);
}

/// Answers are the same, whatever is wrong with the journal.
fn the_decision_stands(world: &World, command: &mut Command) {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&payload(world, "c6dc", "touch a")).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), stderr(&output).as_str()), (0, ""));
    assert!(stdout(&output).contains(r#""permissionDecision":"allow""#), "{}", stdout(&output));
}

/// Guards I28.
#[test]
fn decisions_apply_even_if_they_cannot_be_recorded() {
    let world = World::new().policy(POLICY);
    the_decision_stands(
        &world,
        world.command(&["hook", "claude"]).env("XDG_STATE_HOME", "/dev/null/x"),
    );
    the_decision_stands(&world, world.command(&["hook", "claude"]).env("HOME", "/dev/null"));
    let mut run = world.command(&["run", "-c", "touch a"]);
    let output = run.env("XDG_STATE_HOME", "/dev/null/x").output().unwrap();
    assert_eq!(code(&output), 0);
    assert!(stderr(&output).contains("note: no audit record: "), "{}", stderr(&output));
    assert!(world.project().join("a").exists());
}

#[test]
fn a_full_disk_changes_no_decision_and_keeps_the_journal_intact() {
    let world = World::new().policy(POLICY);
    hook(&world, "touch a");
    let before = fs::read(journal(&world)).unwrap();
    // A limit on the file size simulates a full disk: the last write is a short one.
    let mut command = world.command(&[]);
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {OPENOXIDE} hook claude");
    let mut limited = Command::new("bash");
    limited.args(["-c", &script]).current_dir(world.project()).env_clear();
    limited.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.env_clear();
    assert!(before.len() < 1024, "it fits once");
    the_decision_stands(&world, &mut limited);
    assert_eq!(fs::read(journal(&world)).unwrap(), before);
    hook(&world, "touch b");
    assert_eq!(verify(&world).1["records"], 2);
}

#[test]
fn a_lock_that_is_never_released_delays_decisions_only_briefly() {
    let world = World::new().policy(POLICY);
    hook(&world, "touch a");
    let lock = File::open(journal(&world).with_file_name("lock")).unwrap();
    lock.lock().unwrap();
    let start = Instant::now();
    the_decision_stands(&world, &mut world.command(&["hook", "claude"]));
    assert!(start.elapsed() < Duration::from_secs(20), "it hung");
    drop(lock);
    assert_eq!(verify(&world).1["records"], 1);
}

#[test]
fn a_journal_of_a_newer_version_is_kept_unchanged_and_reported() {
    let world = World::new().policy(POLICY);
    hook(&world, "touch a");
    let mut file = File::options().append(true).open(journal(&world)).unwrap();
    file.write_all(b"{\"schema\":2,\"x\":1}\n").unwrap();
    let before = fs::read(journal(&world)).unwrap();
    the_decision_stands(&world, &mut world.command(&["hook", "claude"]));
    let output = world.run(&["run", "-c", "touch a"], b"");
    assert!(stderr(&output).contains("a newer version"), "{}", stderr(&output));
    assert_eq!(fs::read(journal(&world)).unwrap(), before);
}

#[test]
fn a_changed_record_is_named() {
    let world = World::new().policy(POLICY);
    for command in ["touch a", "touch denied", "touch c"] {
        hook(&world, command);
    }
    assert!(text(&world, &["audit", "verify"]).starts_with("3 records, 1 to 3: all intact\n"));
    let whole = fs::read_to_string(journal(&world)).unwrap();
    fs::write(journal(&world), whole.replacen("touch denied", "touch harmles", 1)).unwrap();
    let (exit, verdict) = verify(&world);
    assert_eq!((exit, &verdict["ok"]), (1, &json!(false)));
    assert_eq!((&verdict["fault"]["seq"], &verdict["fault"]["line"]), (&json!(2), &json!(2)));
    let output = world.run(&["audit", "verify"], b"");
    assert_eq!(code(&output), 1);
    assert!(
        stdout(&output).starts_with("journal.ndjson:2: record 2: record modified"),
        "{}",
        stdout(&output)
    );
}

#[test]
fn the_log_filters_records() {
    let world = World::new().policy(POLICY);
    for command in ["touch a", "touch denied", "git push"] {
        hook(&world, command);
    }
    world.run(&["run", "-c", "touch b"], b"");
    let seqs = |args: &[&str]| -> Vec<u64> {
        log(&world, args).iter().map(|record| record["seq"].as_u64().unwrap()).collect()
    };
    assert_eq!(seqs(&[]), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(&["--decision", "allow"]), [1, 4, 5], "an end belongs to its decision");
    assert_eq!(seqs(&["--session", "c6"]), [1, 2, 3]);
    assert_eq!(seqs(&["--tool", "bash", "--limit", "2"]), [4, 5]);
    assert_eq!(seqs(&["--tool", "Edit"]), [0; 0]);
    assert_eq!(seqs(&["--since", "1h"]), [1, 2, 3, 4, 5]);
    assert_eq!(seqs(&["--since", "9999-01-01"]), [0; 0]);
    assert_eq!(code(&world.run(&["audit", "log", "--since", "soon"], b"")), 2);
    let shown = text(&world, &["audit", "log", "--decision", "deny"]);
    assert!(
        shown.contains("deny") && shown.contains("touch denied") && shown.contains("policy.toml:3"),
        "{shown}"
    );
    assert!(!shown.contains('\x1b'), "no colour in a pipe");
    assert!(text(&world, &["audit", "log", "--color", "always"]).contains("\x1b[31m"));
}

#[test]
fn text_from_an_agent_is_escaped_for_the_terminal() {
    let world = World::new().policy(POLICY);
    let evil = "\u{1b}[2J\u{202e}x";
    world.run(&["hook", "claude"], &payload(&world, evil, &format!("npm {evil}")));
    for args in [&["audit", "log"][..], &["audit", "stats"]] {
        let shown = text(&world, args);
        assert!(!shown.contains('\x1b') && !shown.contains('\u{202e}'), "{shown}");
    }
    assert!(text(&world, &["audit", "log"]).contains(r"\x1b[2J\u{202e}x"));
}

#[test]
fn the_log_is_followed() {
    let world = World::new().policy(POLICY);
    hook(&world, "touch a");
    let mut command = world.command(&["audit", "log", "--follow", "--json"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(next()["title"], "touch a");
    for title in ["touch b", "touch c"] {
        hook(&world, title);
        assert_eq!(next()["title"], title);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Runs the hook as Claude Code does where it asks a person: the payload does not name the call.
fn permission_request(world: &World, command: &str) -> String {
    let mut request: Value = serde_json::from_slice(&payload(world, "c6dc", command)).unwrap();
    request["hook_event_name"] = json!("PermissionRequest");
    request.as_object_mut().unwrap().remove("tool_use_id");
    let output = world.run(&["hook", "claude"], request.to_string().as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    stdout(&output)
}

/// Runs the hook for a call with this name.
fn named_call(world: &World, command: &str, name: &str) {
    let mut call: Value = serde_json::from_slice(&payload(world, "c6dc", command)).unwrap();
    call["tool_use_id"] = json!(name);
    let output = world.run(&["hook", "claude"], call.to_string().as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

/// Claude Code calls the hook before the tool, and once more where it would ask a person.
#[test]
fn a_call_that_is_announced_and_asked_about_is_one_call() {
    let world = World::new().policy(POLICY);
    for (command, name) in [("git push a", "1"), ("git push a", "2"), ("npm publish", "3")] {
        named_call(&world, command, name);
        permission_request(&world, command);
    }
    // A question without a preceding tool call is a separate call.
    permission_request(&world, "git push b");
    assert_eq!(log(&world, &["--all-records"]).len(), 7);
    let calls = log(&world, &[]);
    let titles: Vec<_> = calls.iter().map(|call| call["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["git push a", "git push a", "npm publish", "git push b"]);
    assert!(calls.iter().all(|call| call["event"] == "permission_request"), "{calls:?}");
    let shown = text(&world, &["audit", "log"]);
    assert_eq!(shown.matches("  ask  ").count(), 4, "{shown}");
    let shown = text(&world, &["audit", "log", "--all-records"]);
    assert_eq!(shown.matches("  ask  ").count(), 7, "{shown}");
    let found: Value = serde_json::from_str(&text(&world, &["audit", "stats", "--json"])).unwrap();
    assert_eq!(found["decisions"], json!({ "allow": 0, "ask": 4, "deny": 0 }));
    assert_eq!(verify(&world).1["records"], 7, "the journal keeps every record");
}

#[test]
fn the_log_shows_the_last_state_of_a_call() {
    let world = World::new().policy(POLICY);
    named_call(&world, "npm publish", "1");
    let world = world.policy(&POLICY.replace("touch *", "npm *"));
    permission_request(&world, "npm publish");
    let decisions = |args: &[&str]| -> Vec<Value> {
        log(&world, args).iter().map(|call| call["decision"].clone()).collect()
    };
    assert_eq!(decisions(&["--all-records"]), ["ask", "allow"]);
    assert_eq!(decisions(&[]), ["allow"]);
    assert_eq!(decisions(&["--decision", "ask"]), [Value::Null; 0], "it is not asked any more");
    assert_eq!(decisions(&["--decision", "ask", "--all-records"]), ["ask"]);
}

#[test]
fn a_journal_that_is_not_intact_is_reported_by_the_log() {
    let world = World::new().policy(POLICY);
    for command in ["touch a", "touch b", "touch c"] {
        hook(&world, command);
    }
    let whole = fs::read(journal(&world)).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let random: Vec<u8> =
        (0..100_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let check = |expected_rows: usize, what: &str| {
        assert_eq!(verify(&world).0, 1, "{what}");
        for verb in ["log", "stats"] {
            let output = world.run(&["audit", verb], b"");
            let note = "the journal is not intact, so records may be missing: ";
            assert!(stderr(&output).contains(note), "{what}: {}", stderr(&output));
            assert!(!stdout(&output).contains("the journal is empty"), "{what}");
        }
        let rows = text(&world, &["audit", "log"]).matches("touch").count();
        assert_eq!(rows, expected_rows * 2, "{what}: each row and its reason");
    };
    for (content, rows, what) in [
        (&whole[..first], 1, "cut behind a record"),
        (&whole[..first + 7], 1, "cut inside of a record"),
        (&[], 0, "truncated"),
        (&random, 0, "random bytes"),
    ] {
        fs::write(journal(&world), content).unwrap();
        check(rows, what);
        // The next record does not hide what is missing.
        hook(&world, "touch d");
        check(rows + 1, what);
        fs::write(journal(&world), &whole).unwrap();
    }
    fs::remove_file(journal(&world)).unwrap();
    check(0, "removed");
    fs::remove_dir_all(journal(&world).parent().unwrap()).unwrap();
    check(0, "removed with its directory");
    hook(&world, "touch d");
    check(1, "begun anew");
}

#[test]
fn a_journal_of_a_newer_version_is_an_error_of_every_reader() {
    let world = World::new().policy(POLICY);
    hook(&world, "touch a");
    let newer =
        fs::read_to_string(journal(&world)).unwrap().replace("\"schema\":1", "\"schema\":2");
    fs::write(journal(&world), newer).unwrap();
    for verb in ["log", "stats", "verify"] {
        let output = world.run(&["audit", verb], b"");
        assert_eq!(code(&output), 1, "{verb}: {}", stdout(&output));
        assert!(stderr(&output).contains("a newer version of openoxide"), "{}", stderr(&output));
    }
}

#[test]
fn the_statistics_count_questions_prefixes_and_rules() {
    let world = World::new().policy(POLICY);
    for command in ["git push a", "git push b", "npm publish", "touch a"] {
        hook(&world, command);
    }
    let found: Value =
        serde_json::from_str(&text(&world, &["audit", "stats", "--json", "--days", "3"])).unwrap();
    assert_eq!(found["schema"], 1);
    assert_eq!(found["decisions"], json!({ "allow": 1, "ask": 3, "deny": 0 }));
    let questions = found["questions"].as_array().unwrap();
    assert_eq!(questions.len(), 3);
    assert_eq!(questions.iter().map(|day| day["count"].as_u64().unwrap()).sum::<u64>(), 3);
    assert_eq!(found["prefixes"][0], json!({ "prefix": "Bash(git push *)", "count": 2 }));
    assert_eq!(
        (&found["rules"][0]["rule"]["text"], &found["rules"][0]["count"]),
        (&json!("ask Bash(git push *)"), &json!(2))
    );
    let idle: Vec<_> =
        found["never_used"].as_array().unwrap().iter().map(|rule| &rule["text"]).collect();
    assert_eq!(idle, ["deny Bash(touch denied*)"]);
    let shown = text(&world, &["audit", "stats"]);
    assert!(shown.starts_with("14 days: 1 allowed, 3 asked, 0 denied\n"), "{shown}");
    assert!(shown.contains("      3 ████"), "{shown}");
}

#[test]
fn an_empty_journal_is_not_an_error() {
    let world = World::new();
    for verb in ["log", "verify", "stats"] {
        let shown = text(&world, &["audit", verb]);
        assert!(shown.starts_with("the journal is empty"), "{shown}");
    }
    assert_eq!(verify(&world).1["records"], 0);
    assert_eq!(log(&world, &[]), [Value::Null; 0]);
}
