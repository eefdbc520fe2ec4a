//! `audit stats`: who answered the questions, and what allowed the other calls.

use serde_json::{Value, json};

use crate::{
    pending::{answer, ask, asked, end, id},
    support::{World, code, stderr, stdout},
};

fn stats(world: &World, args: &[&str]) -> Value {
    let output = world.run(&[&["audit", "stats", "--json"], args].concat(), b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    serde_json::from_str(&stdout(&output)).unwrap()
}

#[test]
fn questions_are_counted_by_their_answers_and_calls_by_what_allowed_them() {
    let world = World::new().policy("[permissions]\nallow = [\"Bash(mkdir *)\"]\n");
    for (script, verb) in [("touch a && ls missing", "approve"), ("touch b", "deny")] {
        let asker = ask(&world, &["-c", script]);
        let request = asked(&world, script);
        assert_eq!(answer(&world, &[verb, id(&request)]).0, 0);
        drop(end(asker));
    }
    assert_eq!(code(&world.run(&["grants", "add", "Bash(cp *)"], b"")), 0);
    for (script, expected) in
        [("touch c", 4), ("touch c", 4), ("mkdir d", 0), ("cp a e", 0), ("ls", 0)]
    {
        let output = world.run(&["run", "-c", script], b"");
        assert_eq!(code(&output), expected, "{script}: {}", stderr(&output));
    }
    let found = stats(&world, &[]);
    assert_eq!(found["decisions"], json!({ "allow": 3, "ask": 4, "deny": 0 }), "{found}");
    for (key, count) in [("rule", 1), ("grant", 1), ("built_in", 1), ("sandbox", 0)] {
        assert_eq!(found["allowed"][key], count, "{key}: {found}");
    }
    for (key, count) in [
        ("other_terminal", 2),
        ("approved", 1),
        ("denied", 1),
        ("approved_and_failed", 1),
        ("unanswered", 2),
        ("terminal", 0),
    ] {
        assert_eq!(found["answers"][key], count, "{key}: {found}");
    }
    assert!(found["answers"]["median_wait_ms"].as_u64().unwrap() < 30_000, "{found}");
    assert_eq!(found["most_asked"][0], json!({ "title": "touch c", "count": 2 }));
    let text = stdout(&world.run(&["audit", "stats"], b""));
    for line in ["2  answered in another terminal", "openoxide rules suggest", "touch c"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let later = stats(&world, &["--since", "2999-01-01"]);
    assert_eq!(later["decisions"], json!({ "allow": 0, "ask": 0, "deny": 0 }));
    assert_eq!(stats(&world, &["--since", "1h"])["answers"], found["answers"]);
}
