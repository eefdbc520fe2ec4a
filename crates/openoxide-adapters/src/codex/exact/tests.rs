//! The recorded answers of the real program, and bounds that are ours alone.

use serde_json::Value;

use super::{Place, Policy};

const RECORDED: &str = include_str!("../../../../../corpus/codex/execpolicy.ndjson");
const PLACE: Place<'_> = Place { cwd: "/work", home: Some("/home") };

fn texts(row: &Value, name: &str) -> Vec<String> {
    row[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Returns what is written to standard output, or the last lines of what is said.
fn answer(row: &Value) -> Result<String, String> {
    let mut policy = Policy::default();
    for (number, text) in texts(row, "files").iter().enumerate() {
        let read = policy.read(&format!("{number}.rules"), text, &PLACE);
        read.map_err(|error| error.message.replace('\n', "\n    "))?;
    }
    let found = policy.check(&texts(row, "command"), (row["resolve"] == true).then_some(&PLACE));
    let pretty = row["pretty"] == true;
    let write = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
    Ok(write(&found).unwrap() + "\n")
}

// Codex itself has no order among rules that are about more than one spelling.
fn ordered(row: &Value, answer: &str) -> String {
    let text = row["files"].to_string();
    let mut value: Value = match serde_json::from_str(answer) {
        Ok(value) if text.contains("canonical_matching") => value,
        _ => return answer.to_owned(),
    };
    value["matchedRules"].as_array_mut().unwrap().sort_by_key(Value::to_string);
    value.to_string()
}

// Each row is what Codex 0.169 has answered to `execpolicy check` (`cargo xtask codex-diff --record`).
#[test]
fn recorded_checks_are_answered_to_the_letter() {
    let rows: Vec<Value> = RECORDED.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert!(rows.len() >= 300, "{}", rows.len());
    let mut refused = 0;
    for row in &rows {
        match answer(row) {
            Ok(found) => {
                let stdout = row["stdout"].as_str().unwrap();
                assert_eq!(
                    (&row["code"], ordered(row, &found)),
                    (&0.into(), ordered(row, stdout)),
                    "{row}"
                );
            }
            Err(found) => {
                refused += 1;
                let said = row["stderr"].as_str().unwrap();
                assert_eq!(row["code"], 1, "{row}: {found}");
                assert!(said.trim_end().ends_with(found.trim_end()), "{row}: {found}");
            }
        }
    }
    assert!((50..rows.len() / 2).contains(&refused), "{refused}");
}

fn refusal(text: &str) -> String {
    Policy::default().read("x.rules", text, &PLACE).unwrap_err().message
}

// The first argument of each is what a hostile project may write; the real program takes them on, or dies of them.
#[test]
fn what_would_not_end_is_refused() {
    for (text, said) in [
        ("[".repeat(100_000), "nests too deep"),
        (format!("x = {}1", "-".repeat(100_000)), "nests too deep"),
        (format!("x = 1{}", " + 1".repeat(10_000)), "nests too deep"),
        (format!("x = f{}", "()".repeat(10_000)), "nests too deep"),
        (format!("x = {}1{}", "(".repeat(20), " + 1)".repeat(20).repeat(20)), ""),
        ("for x in range(1000000000): pass".to_owned(), "tick"),
        ("def f():\n  f()\nf()".to_owned(), "recurs"),
        (format!("#{}", "x".repeat(1 << 20)), "longer than"),
        ("x = []\nfor i in range(1000000): x = [x]".to_owned(), "tick"),
        ("x = []\nfor i in range(90000): x = [x]\nprefix_rule([\"a\"], match = [str(x)], decision = x)".to_owned(), ""),
    ] {
        let found = refusal(&text);
        assert!(found.contains(said), "{}: {}", &text[..text.len().min(60)], &found[..found.len().min(300)]);
    }
}

#[test]
fn a_list_may_be_as_long_as_it_likes() {
    let rules: String =
        (0..2_000).map(|n| format!("    [\"tool{n}\", [\"a\", \"b-{n}\"]],\n")).collect();
    let text = format!("RULES = [\n{rules}]\nfor rule in RULES: prefix_rule(rule)\n");
    let mut policy = Policy::default();
    policy.read("x.rules", &text, &PLACE).unwrap();
    let found = policy.check(&["tool1999".to_owned(), "b-1999".to_owned()], None);
    assert_eq!(found.matched_rules.len(), 1);
}
