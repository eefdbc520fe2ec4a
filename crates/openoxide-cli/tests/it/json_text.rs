//! Printed JSON: no character in it controls a terminal or changes the direction of text.

use std::fs;

use serde_json::{Value, json};

use crate::support::{World, code, stderr, stdout};

/// CSI, right-to-left override, zero-width space, delete, language tag.
const HOSTILE: &str = "a\u{9b}2J\u{202e}\u{200b}\u{7f}\u{e0041}b";
/// Characters of [`HOSTILE`] that may not be printed.
const FORBIDDEN: [char; 5] = ['\u{9b}', '\u{202e}', '\u{200b}', '\u{7f}', '\u{e0041}'];

fn assert_escaped(text: &str, context: &str) -> Vec<Value> {
    assert!(!text.contains(FORBIDDEN), "{context}: {text:?}");
    let values: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect(context)).collect();
    assert!(format!("{values:?}").contains("\\u{202e}"), "{context}: {text}");
    values
}

#[test]
fn commands_that_print_json_escape_hostile_text() {
    // TOML does not allow U+007F.
    let rule = HOSTILE.replace('\u{7f}', "");
    let policy = format!("[permissions]\nallow = [\"Bash(x {rule})\"]\n");
    let world = World::new().policy(&policy);
    let script = format!("cat {HOSTILE}");
    let rows: [&[&str]; 4] = [
        &["check", "--json", "-c", &script],
        &["explain", "--json", "-c", &script],
        &["tools", "filter", "--json", HOSTILE],
        &["rules", "list", "--json"],
    ];
    for args in rows {
        assert_escaped(&stdout(&world.run(args, b"")), args[0]);
    }
    let row = json!({"id": HOSTILE, "tool": "Bash", "input": {"command": script}});
    let output = world.run(&["check", "--batch"], format!("{row}\n").as_bytes());
    let answers = assert_escaped(&stdout(&output), "batch");
    assert_eq!(answers[0]["id"], HOSTILE, "the value is the same");
}

#[test]
fn the_answer_of_the_hook_and_the_journal_are_escaped() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(ls *)\"]\n");
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "cwd": world.project(),
        "tool_name": "Bash", "tool_input": {"command": format!("frobnicate {HOSTILE}")},
    });
    let output = world.run(&["hook", "claude"], payload.to_string().as_bytes());
    assert_eq!(code(&output), 0);
    assert!(!stdout(&output).contains(FORBIDDEN), "{:?}", stdout(&output));
    assert_escaped(&stdout(&world.run(&["audit", "log", "--json"], b"")), "audit log");
}

#[test]
fn an_error_about_arguments_is_escaped() {
    for args in [&["check", HOSTILE][..], &[HOSTILE], &["rules", "list", "--cwd", HOSTILE, HOSTILE]]
    {
        let output = World::new().run(args, b"");
        assert_eq!(code(&output), 2);
        assert!(!stderr(&output).contains(FORBIDDEN), "{:?}", stderr(&output));
        assert!(stderr(&output).contains("\\u{202e}"), "{:?}", stderr(&output));
    }
}

/// Everything that is printed passes through one function, or is listed here.
#[test]
fn only_known_modules_write_to_standard_output() {
    let known = [
        "json_lines.rs",
        "user_messages.rs",
        "starlark.rs",
        "commands/audit/log.rs",
        "commands/hook.rs",
        "commands/hook/answer_watchdog.rs",
    ];
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    let mut directories = vec![source.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path().to_str().unwrap().to_owned();
            if fs::metadata(&path).unwrap().is_dir() {
                directories.push(path);
            } else if !known.iter().any(|known| path.ends_with(known)) {
                let text = fs::read_to_string(&path).unwrap();
                assert!(!text.contains("stdout().lock()"), "{path} prints with `print_data`");
            }
        }
    }
}
