//! `tools filter`: which tools a model should not even see.

use serde_json::Value;

use crate::support::{World, code, stderr, stdout};

const POLICY: &str = r#"
[permissions]
deny = ["Bash", "mcp__shop", "Read(/secret/**)"]
allow = ["Bash(ls *)", "WebFetch(domain:example.com)"]
"#;

#[test]
fn a_tool_is_listed_when_every_call_of_it_would_be_denied() {
    let world = World::new().policy(POLICY);
    let names = "Bash\nshell\nRead\nEdit\napply_patch\n\n  mcp__shop__buy\nmcp__mail__send\n";
    let output = world.run(&["tools", "filter"], names.as_bytes());
    assert_eq!((code(&output), stderr(&output)), (0, String::new()));
    assert_eq!(stdout(&output), "Bash\nshell\nmcp__shop__buy\n");
}

#[test]
fn the_mode_applies_and_the_reason_is_shown() {
    let world = World::new().policy(POLICY);
    let args = ["tools", "filter", "--json", "--mode", "dont_ask"];
    let tools = ["Bash", "Read", "apply_patch", "WebFetch", "Task", "mcp__mail__send", "TodoWrite"];
    let output = world.run(&[&args[..], &tools].concat(), b"");
    let rows: Vec<Value> =
        stdout(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let hidden: Vec<_> = rows.iter().map(|row| row["hidden"].as_bool().unwrap()).collect();
    assert_eq!(hidden, [true, false, true, false, false, true, false]);
    assert_eq!(rows[0]["rule"]["text"], "deny Bash");
    assert_eq!(rows[0]["rule"]["line"], 3);
    assert_eq!(rows[2]["reason"], "mode `dont_ask` denies every call of it");
    assert_eq!(rows[1]["reason"], Value::Null);
}

#[test]
fn a_policy_that_is_wrong_is_reported() {
    let world = World::new().policy("[permissions]\ndeny = [\"Bash\", \"Bash(\"]\n");
    let output = world.run(&["tools", "filter", "Bash"], b"");
    assert_eq!((code(&output), stdout(&output)), (2, "Bash\n".to_owned()));
    assert!(stderr(&output).contains("policy.toml"), "{}", stderr(&output));
}
