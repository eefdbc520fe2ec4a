//! Tests of `hook codex`: where a person has to be asked, it never gives an answer that Codex takes
//! for an approval or for no answer.

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout};

const POLICY: &str =
    "[permissions]\nallow = [\"Bash(touch *)\"]\ndeny = [\"Bash(touch denied*)\"]\n";

/// A payload of Codex 0.169; `cwd` is the directory that the model named for the command.
fn payload(event: &str, cwd: &str, command: &str) -> Vec<u8> {
    json!({
        "session_id": "01a2", "turn_id": "01a3", "transcript_path": "/h/s.jsonl", "cwd": cwd,
        "hook_event_name": event, "model": "gpt-5.5", "permission_mode": "bypassPermissions",
        "tool_name": "Bash", "tool_input": { "command": command }, "tool_use_id": "call_1",
    })
    .to_string()
    .into_bytes()
}

/// Returns the answer, or nothing where there is none and Codex goes on.
fn answer(world: &World, args: &[&str], input: &[u8]) -> Option<Value> {
    let output = world.run(args, input);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    let said = (!text.trim().is_empty()).then(|| json_of(&text))?;
    Some(said.get("hookSpecificOutput").cloned().unwrap_or_default())
}

/// Parses JSON. Invalid JSON becomes null, which no test accepts as an answer.
fn json_of(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn before(world: &World, args: &[&str], cwd: &str, command: &str) -> Option<Value> {
    answer(world, args, &payload("PreToolUse", cwd, command))
}

#[test]
fn before_a_tool_codex_continues_only_with_allowed_calls() {
    let world = World::new().policy(POLICY);
    let here = world.project().display().to_string();
    for (command, goes_on) in [
        ("touch a", true),
        ("git status", true),
        ("touch denied", false),
        ("npm publish", false),
        ("touch a; eval \"$X\"", false),
    ] {
        let said = before(&world, &["hook", "codex"], &here, command);
        match said {
            None => assert!(goes_on, "{command}"),
            Some(said) => {
                assert!(!goes_on, "{command}: {said}");
                assert_eq!(said["hookEventName"], "PreToolUse");
                assert_eq!(said["permissionDecision"], "deny", "{command}");
            }
        }
    }
    let log = world.run(&["audit", "log", "--json"], b"");
    let log = stdout(&log);
    assert!(log.lines().all(|line| line.contains(r#""agent":"codex""#)), "{log}");
    assert!(log.contains("npm publish"), "{log}");
    let said = before(&world, &["hook", "codex"], &here, "npm publish").unwrap();
    let why = said["permissionDecisionReason"].as_str().unwrap();
    assert!(why.contains("`Bash(npm publish *)` would allow it"), "{why}");
}

#[test]
fn where_codex_asks_about_everything_a_question_is_left_to_it() {
    let world = World::new().policy(POLICY);
    let here = world.project().display().to_string();
    let args = ["hook", "codex", "--untrusted"];
    assert_eq!(before(&world, &args, &here, "npm publish"), None);
    assert_eq!(before(&world, &args, &here, "touch denied").unwrap()["permissionDecision"], "deny");
    assert_eq!(code(&world.run(&["hook", "claude", "--untrusted"], b"")), 2);
}

/// The model chooses the directory of each command; the project is the one that Codex was started in.
#[test]
fn a_directory_chosen_by_the_model_is_not_a_project() {
    let world = World::new();
    let args = ["hook", "codex"];
    assert_eq!(before(&world, &args, &world.project().display().to_string(), "cat notes"), None);
    for elsewhere in ["/etc".to_owned(), world.root().join(".ssh").display().to_string()] {
        let said = before(&world, &args, &elsewhere, "cat group");
        assert_eq!(said.unwrap()["permissionDecision"], "deny", "{elsewhere}");
    }
}

#[test]
fn a_request_is_answered_by_the_policy_or_by_the_person() {
    let world = World::new().policy(POLICY);
    let here = world.project().display().to_string();
    let of = |command: &str| {
        answer(&world, &["hook", "codex"], &payload("PermissionRequest", &here, command))
    };
    assert_eq!(of("touch a").unwrap()["decision"], json!({ "behavior": "allow" }));
    assert_eq!(of("touch denied").unwrap()["decision"]["behavior"], "deny");
    assert_eq!(of("npm publish"), None);
}

/// Observed on 0.169: the payload of a request contains the justification, but not whether the
/// model asks to run outside of the sandbox, and an approved command that fails in the sandbox is
/// repeated without it.
#[test]
fn a_request_that_may_be_one_to_leave_the_sandbox_needs_a_rule_about_it() {
    let commands = "\"Bash(npm test)\", \"Bash(touch *)\"";
    let allow = |rules: &str| World::new().policy(&format!("[permissions]\nallow = [{rules}]\n"));
    let of = |world: &World, command: &str, why: Option<&str>| {
        let here = world.project().display().to_string();
        let mut payload: serde_json::Value =
            serde_json::from_slice(&payload("PermissionRequest", &here, command)).unwrap();
        if let Some(why) = why {
            payload["tool_input"]["description"] = json!(why);
        }
        answer(world, &["hook", "codex"], payload.to_string().as_bytes())
            .map(|said| said["decision"]["behavior"].as_str().unwrap().to_owned())
    };
    let world = allow(commands);
    assert_eq!(of(&world, "npm test", Some("run outside the sandbox")), None);
    assert_eq!(of(&world, "npm test", None), None);
    assert_eq!(of(&world, "touch a", Some("run outside the sandbox")), None);
    assert_eq!(of(&world, "touch a", None).as_deref(), Some("allow"));
    assert_eq!(of(&world, "ls", None).as_deref(), Some("allow"));
    let here = world.project().display().to_string();
    assert_eq!(before(&world, &["hook", "codex"], &here, "npm test"), None);
    let world = allow(&format!("{commands}, \"RunWithoutSandbox\""));
    assert_eq!(of(&world, "npm test", Some("because")).as_deref(), Some("allow"));
    let world = World::new()
        .policy("[permissions]\nallow = [\"Bash(npm test)\"]\ndeny = [\"RunWithoutSandbox\"]\n");
    assert_eq!(of(&world, "npm test", Some("because")).as_deref(), Some("deny"));
}

#[test]
fn an_invalid_payload_is_blocked() {
    let world = World::new().policy("[permissions]\nallow = [\"*\"]\n");
    let deep = format!("{{\"hook_event_name\":\"PreToolUse\",\"x\":{}", "[".repeat(200_000));
    let hostile: [&[u8]; 6] =
        [b"", b"not json", b"{}", b"[]", b"\xFF\xFE{\"a\":1}", deep.as_bytes()];
    for input in hostile {
        let said = answer(&world, &["hook", "codex"], input).unwrap();
        assert_eq!(said["permissionDecision"], "deny", "{:?}", &input[..input.len().min(20)]);
    }
}

// Codex 0.169 applies such a script itself and starts no program. A rule for `apply_patch` does not
// cover the files of the patch.
#[test]
fn the_files_of_a_patch_in_a_script_are_checked_by_their_paths() {
    let policy = "[permissions]\nallow = [\"Bash(apply_patch)\", \"Bash(cd *)\", \"Edit(**)\"]\ndeny = [\"Edit(kept/**)\"]\n";
    let world = World::new().policy(policy);
    let here = world.project().display().to_string();
    let script = |first: &str, file: &str| {
        format!(
            "{first}apply_patch <<'E'\n*** Begin Patch\n*** Add File: {file}\n+a\n*** End Patch\nE"
        )
    };
    for (first, file, goes_on) in [
        ("", "a", true),
        ("cd sub && ", "a", true),
        ("", "kept/a", false),
        ("cd kept && ", "a", false),
        ("cd kept && ", "../a", true),
        ("", ".git/hooks/pre-commit", false),
        ("cd .git/hooks && ", "pre-commit", false),
        ("", "/etc/passwd", false),
    ] {
        let said = before(&world, &["hook", "codex"], &here, &script(first, file));
        assert_eq!(said.is_none(), goes_on, "{first}{file}: {said:?}");
    }
}

/// The model chooses the shell of `exec_command`, and the hook does not receive this choice.
/// Scripts that bash, dash and zsh read differently are blocked, even under a rule that would allow
/// them.
#[test]
fn scripts_that_the_shell_of_the_model_could_read_otherwise_are_blocked() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(echo *)\", \"Bash(cat *)\"]\n");
    let here = world.project().display().to_string();
    for (command, goes_on) in [
        (r"echo $'a\'; touch x #'", false),
        ("[[ a > b ]]", false),
        ("(( 1 > 2 ))", false),
        (r"cat <<< $'x\'; touch y; #'", false),
        ("echo a &> b", false),
        ("path=./bin; ls", false),
        ("cat {a,b}", false),
        ("echo 'a' && [ -f a ]", true),
        ("for f in a b; do cat \"$f\"; done", true),
    ] {
        let said = before(&world, &["hook", "codex"], &here, command);
        assert_eq!(said.is_none(), goes_on, "{command}: {said:?}");
    }
}
