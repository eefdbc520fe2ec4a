//! Tests of `hook claude` with good, bad and hostile input: it always answers, and it never allows
//! a call without a decision to allow it.

use std::{fs, process::Command, time::Instant};

use serde_json::{Value, json};

use crate::support::{OPENOXIDE, World, code, stderr, stdout};

fn payload(world: &World, tool: &str, input: impl Into<Value>) -> Vec<u8> {
    let input = input.into();
    json!({
        "session_id": "c6dc", "transcript_path": "/x.jsonl", "cwd": world.project(),
        "permission_mode": "default", "hook_event_name": "PreToolUse",
        "tool_name": tool, "tool_input": input, "tool_use_id": "toolu_1",
    })
    .to_string()
    .into_bytes()
}

/// Returns what the client would read: the decision and its reason.
fn answer(world: &World, input: &[u8]) -> (String, String) {
    let output = world.run(&["hook", "claude"], input);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let said = &found["hookSpecificOutput"];
    assert_eq!(said["hookEventName"], "PreToolUse");
    let text = |key: &str| said[key].as_str().unwrap().to_owned();
    (text("permissionDecision"), text("permissionDecisionReason"))
}

fn decision(world: &World, command: &str) -> String {
    answer(world, &payload(world, "Bash", json!({ "command": command }))).0
}

const POLICY: &str =
    "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(touch denied*)\"]\n";

#[test]
fn real_calls_get_real_answers() {
    let world = World::new().policy(POLICY);
    for (command, expected) in [
        ("touch a", "allow"),
        ("touch denied", "deny"),
        ("touch a && touch denied", "deny"),
        ("git status", "allow"),
        ("npm publish", "ask"),
        ("eval \"$X\"", "ask"),
    ] {
        assert_eq!(decision(&world, command), expected, "{command}");
    }
    let (found, reason) =
        answer(&world, &payload(&world, "Bash", json!({ "command": "touch denied" })));
    assert_eq!(found, "deny");
    assert!(reason.contains("deny Bash(touch denied*)"), "{reason}");
    assert!(reason.contains("policy.toml:3"), "{reason}");
}

/// Claude Code up to 2.1.63 joins the lines of a command with a pipe. The commands that it runs were
/// computed with its own functions.
#[test]
fn a_command_that_the_client_rewrites_is_also_checked_as_rewritten() {
    let world = World::new();
    fs::write(world.project().join(".env"), "S=1\n").unwrap();
    for (command, expected) in [
        ("echo x | cat\nls .env", "ask"),
        ("echo x | tee\nls CLAUDE.md", "ask"),
        ("echo {} | tee\nls .claude/settings.json", "ask"),
        ("cat .$UNSET_Xenv | cat", "ask"),
        ("A=x; cat .env$A | cat", "ask"),
        ("cat \"~/.ssh/id_rsa\" | cat", "ask"),
        ("echo x | cat\nls src", "allow"),
        ("git log --oneline | head -5\ngit status", "allow"),
        ("grep -rn \"foo\\|bar\" src | head -5", "allow"),
        ("awk '{print $1}' a.txt | sort | uniq -c", "allow"),
        ("find . -name '*.rs' | xargs wc -l | tail -1", "allow"),
        ("cat a.txt | jq '.a[] | {b, c}'", "allow"),
        ("ls -la | grep -v '^d' # files\npwd", "allow"),
    ] {
        assert_eq!(decision(&world, command), expected, "{command}");
    }
}

/// Claude Code continues in the directory in which its session started.
#[test]
fn a_directory_that_does_not_exist_any_more_asks() {
    let world = World::new();
    let call = |cwd: &str| {
        let cwd = world.project().join(cwd);
        let input = json!({ "command": "cat a" });
        let call = json!({
            "session_id": "c6dc", "cwd": cwd, "hook_event_name": "PreToolUse",
            "tool_name": "Bash", "tool_input": input, "tool_use_id": "toolu_1",
        });
        answer(&world, call.to_string().as_bytes()).0
    };
    fs::create_dir(world.project().join("sub")).unwrap();
    assert_eq!(call("sub"), "allow");
    assert_eq!(call("gone"), "ask");
    assert_eq!(call("gone/deeper"), "ask");
}

#[test]
fn a_path_that_the_client_normalizes_asks() {
    let world = World::new();
    let read = |tool: &str, field: &str, path: &str| {
        answer(&world, &payload(&world, tool, json!({ field: path, "pattern": "x" }))).0
    };
    assert_eq!(read("Read", "file_path", "caf\u{e9}/f"), "allow");
    assert_eq!(read("Read", "file_path", "cafe\u{301}/f"), "ask");
    assert_eq!(read("Grep", "path", "cafe\u{301}"), "ask");
    assert_eq!(read("Glob", "path", "cafe\u{301}"), "ask");
}

#[test]
fn a_cached_policy_answers_as_a_fresh_one() {
    let world = World::new().policy(POLICY);
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    for _ in 0..3 {
        assert_eq!(decision(&world, "touch a"), "allow");
        assert_eq!(decision(&world, "touch denied"), "deny");
    }
    assert_eq!(fs::read_dir(world.root().join("cache/openoxide")).unwrap().count(), 1);
    fs::write(world.user_policy(), "[permissions]\n").unwrap();
    assert_eq!(decision(&world, "touch a"), "ask", "a changed policy counts at once");
}

#[test]
fn an_invalid_payload_asks() {
    let world = World::new().policy("[permissions]\nallow = [\"*\"]\n");
    let deep = format!("{{\"hook_event_name\":\"PreToolUse\",\"x\":{}", "[".repeat(200_000));
    let hostile: [&[u8]; 7] =
        [b"", b"not json", b"{}", b"[]", b"\0\0", b"\xFF\xFE{\"a\":1}", deep.as_bytes()];
    for input in hostile {
        assert_eq!(answer(&world, input).0, "ask", "{:?}", &input[..input.len().min(20)]);
    }
}

/// Guards I06.
#[test]
fn hostile_scripts_are_never_allowed() {
    let world = World::new().policy("[permissions]\nallow = [\"*\"]\n");
    let scripts = [
        "echo ".to_owned() + &"x".repeat(10 << 20),
        "$(".repeat(10_000),
        "(".repeat(10_000),
        "\"${x:-".repeat(10_000),
        "ls \0; rm x".to_owned(),
        "ls \u{202e}txt".to_owned(),
        "ls \x1b[2J".to_owned(),
        "ls\u{a0}x".to_owned(),
    ];
    for script in scripts {
        assert_eq!(
            decision(&world, &script),
            "ask",
            "{}",
            script.chars().take(30).collect::<String>()
        );
    }
}

#[test]
fn inputs_that_do_not_fit_their_tool_ask() {
    let world = World::new().policy("[permissions]\nallow = [\"*\"]\n");
    for (tool, input) in [
        ("Bash", json!({})),
        ("Bash", json!({ "command": ["ls", 7] })),
        ("Read", json!({ "file_path": 7 })),
        ("Edit", Value::Null),
        ("WebFetch", json!({ "url": "http://a@b@c/" })),
    ] {
        assert_eq!(
            answer(&world, &payload(&world, tool, input.clone())).0,
            "ask",
            "{tool} {input}"
        );
    }
    let world = World::new();
    assert_eq!(
        answer(&world, &payload(&world, "Frobnicate", json!({}))).0,
        "ask",
        "an unknown tool"
    );
}

#[test]
fn a_directory_that_is_not_there_or_not_absolute_asks() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(ls *)\"]\n");
    let with_cwd = |cwd: &str| {
        let mut call: Value =
            serde_json::from_slice(&payload(&world, "Bash", json!({ "command": "touch x" })))
                .unwrap();
        call["cwd"] = json!(cwd);
        answer(&world, call.to_string().as_bytes()).0
    };
    assert_eq!(with_cwd("relative"), "ask");
    assert_eq!(with_cwd("/nowhere/at/all"), "ask");
    assert_eq!(with_cwd(""), "ask");
}

/// Guards I04.
#[test]
fn a_policy_that_cannot_be_relied_on_allows_nothing() {
    let wrong = [
        "[permissions\n",
        "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(rm\"]\n",
        "[permissions]\nallow = [\"Bash(touch *)\"]\nalow = []\n",
        "\u{0}",
    ];
    for text in wrong {
        let world = World::new().policy(text);
        assert_eq!(decision(&world, "touch a"), "ask", "{text}");
        assert_eq!(decision(&world, "git status"), "ask", "{text}");
    }
    let world = World::new();
    fs::create_dir(world.user_policy()).unwrap();
    assert_eq!(decision(&world, "git status"), "ask", "a directory in the policy's place");
}

#[test]
fn a_pipe_in_place_of_the_policy_does_not_hang_the_hook() {
    let world = World::new();
    assert!(Command::new("mkfifo").arg(world.user_policy()).status().unwrap().success());
    let start = Instant::now();
    assert_eq!(decision(&world, "git status"), "ask");
    assert!(start.elapsed().as_secs() < 30, "it hung");
}

/// Guards I10.
#[test]
fn a_project_cannot_allow_itself_anything() {
    let world = World::new();
    fs::create_dir(world.project().join(".openoxide")).unwrap();
    for name in ["policy.toml", "local.toml"] {
        let text = "mode = \"bypass_permissions\"\n[permissions]\nallow = [\"*\"]\ndeny = [\"Bash(git *)\"]\n";
        fs::write(world.project().join(".openoxide").join(name), text).unwrap();
    }
    assert_eq!(decision(&world, "touch x"), "ask");
    assert_eq!(decision(&world, "git status"), "deny", "its denies count");
}

#[test]
fn a_permission_request_is_left_to_the_person_unless_the_policy_decides() {
    let world = World::new().policy(POLICY);
    let ask = |command: &str| {
        let mut call: Value =
            serde_json::from_slice(&payload(&world, "Bash", json!({ "command": command })))
                .unwrap();
        call["hook_event_name"] = json!("PermissionRequest");
        let output = world.run(&["hook", "claude"], call.to_string().as_bytes());
        assert_eq!(code(&output), 0);
        stdout(&output)
    };
    assert_eq!(ask("npm publish"), "");
    assert!(ask("touch a").contains(r#""behavior":"allow""#));
    assert!(ask("touch denied").contains(r#""behavior":"deny""#));
}

#[test]
fn relative_rules_are_resolved_from_the_project_in_any_directory() {
    let rules = "[permissions]\nallow = [\"Edit(src/**)\"]\ndeny = [\"Read(private/**)\"]\n";
    let world = World::new().policy(rules);
    for place in [".git", "lib/src", "src", "private"] {
        fs::create_dir_all(world.project().join(place)).unwrap();
    }
    let decide = |cwd: &str, tool: &str, file: &str| {
        let input = json!({ "file_path": world.project().join(file), "content": "x" });
        let mut call: Value = serde_json::from_slice(&payload(&world, tool, input)).unwrap();
        call["cwd"] = json!(world.project().join(cwd));
        answer(&world, call.to_string().as_bytes()).0
    };
    for cwd in [".", "lib"] {
        assert_eq!(decide(cwd, "Read", "private/a"), "deny", "{cwd}");
        assert_eq!(decide(cwd, "Write", "src/a"), "allow", "{cwd}");
        assert_eq!(decide(cwd, "Write", "lib/src/a"), "ask", "{cwd}");
        // `check` means the same.
        let place = world.project().join(cwd);
        let check = |file: &str| {
            let script = format!("echo > {}", world.project().join(file).display());
            code(&world.run(&["check", "--cwd", place.to_str().unwrap(), "-c", &script], b""))
        };
        assert_eq!((check("src/a"), check("lib/src/a")), (0, 4), "{cwd}");
    }
}

#[test]
fn the_mode_of_the_client_applies() {
    let world = World::new();
    let edit = |mode: &str| {
        let input = json!({ "file_path": world.project().join("a.txt"), "content": "x" });
        let mut call: Value = serde_json::from_slice(&payload(&world, "Write", input)).unwrap();
        call["permission_mode"] = json!(mode);
        answer(&world, call.to_string().as_bytes()).0
    };
    let rows = [
        ("default", "ask"),
        ("acceptEdits", "allow"),
        ("plan", "deny"),
        ("dontAsk", "deny"),
        ("bypassPermissions", "allow"),
        ("auto", "ask"),
        ("whatever", "ask"),
    ];
    for (mode, expected) in rows {
        assert_eq!(edit(mode), expected, "{mode}");
    }
}

#[test]
fn an_unknown_agent_is_an_error() {
    let world = World::new();
    let output = world.run(&["hook", "frobnicator"], b"");
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("frobnicator"));
}

#[test]
fn a_policy_that_turns_wrong_keeps_its_last_denies_and_loses_its_allows() {
    let world = World::new().policy(POLICY);
    // What has just been written is not cached yet.
    std::thread::sleep(std::time::Duration::from_millis(2_200));
    assert_eq!(decision(&world, "touch a"), "allow");
    std::fs::write(world.user_policy(), POLICY.replace("deny =", "denny =")).unwrap();
    assert_eq!(decision(&world, "touch a"), "ask");
    let (said, why) =
        answer(&world, &payload(&world, "Bash", json!({ "command": "touch denied" })));
    assert_eq!(said, "deny");
    assert!(why.contains("is denied by user policy in its last good version"), "{why}");
    // A policy that was named on the command line is used alone, without a last good version.
    let policy = world.user_policy();
    let named = ["run", "--no-input", "--policy", policy.to_str().unwrap(), "-c", "touch denied"];
    assert_eq!(code(&world.run(&named, b"")), 4);
    let found = ["run", "--no-input", "-c", "touch denied"];
    assert_eq!(code(&world.run(&found, b"")), 126);
    assert_eq!(
        code(&world.run(&["run", "--deny", "Bash(x)", "--no-input", "-c", "touch denied"], b"")),
        126
    );
    std::fs::write(world.user_policy(), "[permissions]\n").unwrap();
    assert_eq!(decision(&world, "touch denied"), "ask");
}

/// Returns the last record of the journal, which has to be intact.
fn last_record(world: &World) -> Value {
    assert_eq!(code(&world.run(&["audit", "verify"], b"")), 0);
    let log = stdout(&world.run(&["audit", "log", "--json", "--all-records"], b""));
    serde_json::from_str(log.lines().last().unwrap()).unwrap()
}

/// Starts a hook whose client waits for three seconds, and returns what it answered and after how long.
fn hurried(world: &World, agent: &str, input: std::process::Stdio) -> (String, f64) {
    let started = Instant::now();
    let mut hook = world.command(&["hook", agent, "--client-timeout", "3"]);
    let output = hook.stdin(input).output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let lines = stdout(&output);
    assert_eq!(lines.lines().count(), 1, "exactly one answer: {lines}");
    let found: Value = serde_json::from_str(&lines).unwrap();
    let effect = found["hookSpecificOutput"]["permissionDecision"].as_str().unwrap().to_owned();
    assert!(lines.contains("deciding took too long"), "{lines}");
    (effect, started.elapsed().as_secs_f64())
}

#[test]
fn a_payload_that_never_ends_is_answered_in_time() {
    let world = World::new().policy(POLICY);
    for (agent, expected) in [("claude", "ask"), ("codex", "deny")] {
        let (reader, writer) = std::io::pipe().unwrap();
        let (effect, seconds) = hurried(&world, agent, reader.into());
        assert_eq!(effect, expected);
        assert!(seconds > 1.0, "it waits as long as it can: {seconds}");
        drop(writer);
        let record = last_record(&world);
        assert_eq!((&record["agent"], &record["decision"]), (&json!(agent), &json!(expected)));
        assert_eq!(record["reason"], "deciding took too long");
    }
}

/// A write lease makes every open of a file wait (fcntl(2)), as a file system does that does not answer.
#[test]
fn a_file_that_cannot_be_opened_for_long_is_not_waited_for() {
    const LEASE: &str = "import fcntl, os, signal, sys, time\n\
        signal.signal(signal.SIGIO, signal.SIG_IGN)\n\
        file = os.open(sys.argv[1], os.O_RDWR)\n\
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n\
        print('held', flush=True)\n\
        time.sleep(60)\n";
    let world = World::new();
    let file = world.file("rust-toolchain.toml", "[toolchain]\nchannel = \"stable\"\n");
    let call = payload(&world, "Bash", json!({ "command": "cargo --version" }));
    let mut holder = Command::new("python3");
    holder.args(["-c", LEASE, &file]).stdout(std::process::Stdio::piped());
    let mut holder = holder.spawn().unwrap();
    let mut said = String::new();
    let mut output = std::io::BufReader::new(holder.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut output, &mut said).unwrap();
    assert_eq!(said, "held\n");
    let start = std::time::Instant::now();
    let output = world.run(&["hook", "claude"], call.as_ref());
    assert!(start.elapsed().as_secs() < 30 && stdout(&output).contains("\"ask\""), "{output:?}");
    let record = last_record(&world);
    assert_eq!((&record["title"], &record["tool"]), (&json!("cargo --version"), &json!("Bash")));
    assert_eq!((&record["decision"], &record["call"]), (&json!("ask"), &json!("toolu_1")));
    // The file is opened without waiting, and counts as one that cannot be read.
    assert!(record["reason"].as_str().unwrap().contains("cargo --version"), "{record}");
    holder.kill().unwrap();
    holder.wait().unwrap();
}

/// A hook of the policy that takes longer than the client waits.
#[test]
fn a_hook_of_the_policy_that_takes_too_long_is_answered_for() {
    let world = World::new()
        .policy("[[hooks]]\nevent = \"pre_tool_use\"\ncommand = \"sleep 30\"\ntimeout = 40\n");
    let stored = world.root().join("payload");
    fs::write(&stored, payload(&world, "Bash", json!({ "command": "ls" }))).unwrap();
    let (effect, seconds) = hurried(&world, "claude", fs::File::open(&stored).unwrap().into());
    assert_eq!(effect, "ask");
    assert!(seconds < 20.0, "{seconds}");
    assert_eq!(last_record(&world)["reason"], "deciding took too long");
}

/// The answer that took too long does not wait for a journal that is locked.
#[test]
fn an_answer_in_time_does_not_wait_for_the_journal() {
    let world = World::new();
    let call = payload(&world, "Bash", json!({ "command": "ls" }));
    assert_eq!(decision(&world, "ls"), "allow");
    let lock = world.root().join(".local/state/openoxide/audit/lock");
    let lock = fs::File::open(lock).unwrap();
    lock.lock().unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    let (effect, seconds) = hurried(&world, "claude", reader.into());
    assert_eq!(effect, "ask");
    assert!(seconds < 20.0, "{seconds}");
    drop((writer, lock));
    assert_eq!(last_record(&world)["title"], "ls", "nothing was recorded");
    assert_eq!(answer(&world, &call).0, "allow");
}

/// A hook that fails has to print nothing and end with an error, which the wiring turns into the
/// status that blocks.
#[test]
fn limits_of_the_process_never_lead_to_an_undecided_allow() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash\"]\ndeny = [\"Bash(ls *)\"]\n");
    let stored = world.root().join("payload");
    fs::write(&stored, payload(&world, "Bash", json!({ "command": "ls -la" }))).unwrap();
    let limits = ["s 64", "s 256", "n 3", "n 4", "n 5", "n 6", "n 8", "f 0", "v 20000", "v 60000"];
    for limit in limits {
        for ignored in ["", "trap '' XFSZ; "] {
            let script = format!("{ignored}ulimit -{limit}; exec {OPENOXIDE} hook claude");
            let mut shell = Command::new("bash");
            shell.args(["-c", &script]).current_dir(world.project()).env_clear();
            let own = world.command(&[]);
            shell.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let output = shell.stdin(fs::File::open(&stored).unwrap()).output().unwrap();
            let printed = stdout(&output);
            match output.status.code() {
                Some(0) => {
                    let found: Value = serde_json::from_str(&printed).unwrap();
                    let effect = &found["hookSpecificOutput"]["permissionDecision"];
                    assert!(effect == "ask" || effect == "deny", "{limit}: {printed}");
                }
                _ => assert_eq!(printed, "", "{limit}"),
            }
        }
    }
}

/// The shell functions `grep` and `find` of Claude Code run `"$CLAUDE_CODE_EXECPATH"`, and it makes `/dev/null` of `nul` behind a `>`.
#[test]
fn scripts_that_the_client_rewrites_ask() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(cat *)\"]\n");
    for (command, expected) in [
        ("CLAUDE_CODE_EXECPATH=./evil; grep x src/a.rs", "ask"),
        ("for CLAUDE_CODE_EXECPATH in ./evil; do find src; done", "ask"),
        ("read CLAUDE_CODE_EXECPATH < f; grep x src/a.rs", "ask"),
        ("BUN_OPTIONS=x; grep x src/a.rs", "ask"),
        ("x=./evil; grep \"$x\" src/a.rs", "allow"),
        (r"cd x\>nul && git status", "ask"),
        (r"cat x\>nul", "ask"),
        ("cat x", "allow"),
    ] {
        assert_eq!(decision(&world, command), expected, "{command}");
    }
}

/// Programs see every assignment of a script to a variable that is in the environment of the
/// client.
#[test]
fn assigned_variables_of_the_environment_ask() {
    let world = World::new();
    let input = payload(&world, "Bash", json!({ "command": "STEERS_X=./evil; ls" }));
    assert_eq!(answer(&world, &input).0, "allow");
    let mut command = world.command(&["hook", "claude"]);
    command.env("STEERS_X", "1");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &input).unwrap();
    let output = child.wait_with_output().unwrap();
    let found: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(found["hookSpecificOutput"]["permissionDecision"], "ask");
}

/// A call that runs at the same time was decided for the old directory.
#[test]
fn a_shell_that_stays_among_other_settings_asks() {
    let world = World::new();
    for directory in ["plain", "sub/deep", "sub/.git"] {
        fs::create_dir_all(world.project().join(directory)).unwrap();
    }
    for (command, expected) in [
        ("cd plain", "allow"),
        ("cd sub", "ask"),
        ("cd sub/deep && ls", "ask"),
        ("(cd sub && ls)", "allow"),
    ] {
        assert_eq!(decision(&world, command), expected, "{command}");
    }
}

/// If `Shot AM.png` is missing, Claude Code reads the file with a narrow space before `AM`, and the
/// reverse.
#[test]
fn the_other_name_of_a_screenshot_is_checked() {
    let world = World::new();
    let read = |name: &str| {
        let input = json!({ "file_path": world.project().join(name) });
        answer(&world, &payload(&world, "Read", input)).0
    };
    assert_eq!(read("Shot AM.png"), "allow");
    for (name, other) in
        [("Shot AM.png", "Shot\u{202f}AM.png"), ("Taken\u{202f}PM.png", "Taken PM.png")]
    {
        std::os::unix::fs::symlink("/etc/shadow", world.project().join(other)).unwrap();
        assert_eq!(read(name), "ask", "{name:?}");
    }
}
