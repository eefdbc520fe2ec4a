//! Comparison with recorded answers of Codex, and tests of limits that only OpenOxide has.

use openoxide_adapters::policy_translation::{PolicyTextError, PolicyTranslation};
use openoxide_codex::{
    exact_semantics::{ExecPolicy, LaunchContext},
    translate_rule_file,
};
use openoxide_permission::{EvaluationContext, LayerKind, PathAnchors, PolicyStack, decide_access};
use openoxide_protocol::{AbsPath, Access, CommandClass, Effect, ExecAccess, Span};
use serde_json::Value;

use super::evaluate_rule_file;

const RECORDED: &str = include_str!("../../../corpus/codex/execpolicy.ndjson");
const PLACE: LaunchContext<'_> = LaunchContext { cwd: "/work", home: Some("/home") };

fn texts(row: &Value, name: &str) -> Vec<String> {
    row[name].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

/// Returns the text for standard output, or the last lines of the error message.
fn answer(row: &Value) -> Result<String, String> {
    let mut policy = ExecPolicy::default();
    for (number, text) in texts(row, "files").iter().enumerate() {
        let read = policy.add_source(&format!("{number}.rules"), text, &PLACE, evaluate_rule_file);
        read.map_err(|error| error.message.replace('\n', "\n    "))?;
    }
    let found = policy.check(&texts(row, "command"), (row["resolve"] == true).then_some(&PLACE));
    let pretty = row["pretty"] == true;
    let write = if pretty { serde_json::to_string_pretty } else { serde_json::to_string };
    Ok(write(&found).unwrap() + "\n")
}

// Codex has no defined order for rules that contain alternatives.
fn ordered(row: &Value, answer: &str) -> String {
    let text = row["files"].to_string();
    let mut value: Value = match serde_json::from_str(answer) {
        Ok(value) if text.contains("canonical_matching") => value,
        _ => return answer.to_owned(),
    };
    value["matchedRules"].as_array_mut().unwrap().sort_by_key(Value::to_string);
    value.to_string()
}

// Each row is the answer of Codex 0.169 to `execpolicy check` (`cargo xtask codex-diff --record`).
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
    ExecPolicy::default()
        .add_source("x.rules", text, &PLACE, evaluate_rule_file)
        .unwrap_err()
        .message
}

// The first argument of each case is text that a hostile project may write. Codex accepts it or
// crashes.
#[test]
fn files_that_exceed_a_limit_are_refused() {
    for (text, said) in [
        ("[".repeat(100_000), "nests too deep"),
        (format!("x = {}1", "-".repeat(100_000)), "nests too deep"),
        (format!("x = 1{}", " + 1".repeat(10_000)), "nests too deep"),
        (format!("x = f{}", "()".repeat(10_000)), "nests too deep"),
        (format!("x = {}1{}", "(".repeat(20), format!("{})", " + 1".repeat(20)).repeat(20)), "nests too deep"),
        ("for x in range(1000000000): pass".to_owned(), "tick"),
        ("def f():\n  f()\nf()".to_owned(), "call stack overflow"),
        ("x = 10\nfor i in range(60): x = x * x".to_owned(), "takes too long"),
        (format!("#{}", "x".repeat(1 << 20)), "longer than"),
        ("x = []\nfor i in range(1000000): x = [x]".to_owned(), "tick"),
        ("x = []\nfor i in range(90000): x = [x]\nprefix_rule([\"a\"], match = [str(x)], decision = x)".to_owned(), "doesn't match"),
    ] {
        let found = refusal(&text);
        let begins: String = text.chars().take(60).collect();
        let shown: String = found.chars().rev().take(300).collect();
        assert!(found.contains(said), "{begins}: {}", shown.chars().rev().collect::<String>());
    }
}

#[test]
fn a_list_may_be_as_long_as_it_likes() {
    let rules: String =
        (0..2_000).map(|n| format!("    [\"tool{n}\", [\"a\", \"b-{n}\"]],\n")).collect();
    let text = format!("RULES = [\n{rules}]\nfor rule in RULES: prefix_rule(rule)\n");
    let mut policy = ExecPolicy::default();
    policy.add_source("x.rules", &text, &PLACE, evaluate_rule_file).unwrap();
    let found = policy.check(&["tool1999".to_owned(), "b-1999".to_owned()], None);
    assert_eq!(found.matched_rules.len(), 1);
}

fn read(text: &str) -> Result<PolicyTranslation, Vec<PolicyTextError>> {
    let base = AbsPath::root();
    translate_rule_file(
        text,
        LayerKind::Cli,
        "x.rules",
        PathAnchors { home: None, base: &base },
        evaluate_rule_file,
    )
}

fn run(text: &str, words: &[&str]) -> Effect {
    let policy = PolicyStack::compile(&[read(text).unwrap().layer]).unwrap();
    let cwd = AbsPath::root();
    let context = EvaluationContext {
        mode: Default::default(),
        cwd: &cwd,
        roots: &[],
        policy_error: None,
        auto_allow: Default::default(),
    };
    let access = Access::Exec(ExecAccess {
        argv: words.iter().copied().collect(),
        text: words.join(" "),
        class: CommandClass::Unknown,
        span: Span::default(),
        arity: 0,
        ..ExecAccess::default()
    });
    decide_access(&policy, &context, &access).effect
}

#[test]
fn a_program_that_makes_rules_is_a_layer() {
    let text = r#"
TOOLS = ["git", "hg"]
for tool in TOOLS:
    prefix_rule([tool, "push"], "forbidden" if tool == "hg" else "prompt", justification = f"{tool} pushes")
[prefix_rule([tool, ["status", "diff"]], match = [tool + " status"]) for tool in TOOLS]
host_executable("git", ["/usr/bin/" + TOOLS[0]])
"#;
    for (words, expected) in [
        (&["git", "status"][..], Effect::Allow),
        (&["hg", "diff", "-p"], Effect::Allow),
        (&["/usr/bin/git", "diff"], Effect::Allow),
        (&["/opt/git", "diff"], Effect::Ask),
        (&["git", "push"], Effect::Ask),
        (&["hg", "push"], Effect::Deny),
        (&["/opt/hg", "push"], Effect::Deny),
    ] {
        assert_eq!(run(text, words), expected, "{words:?}");
    }
    let layer = read(text).unwrap().layer;
    let hg = layer.rules.iter().find(|rule| rule.text == "prefix_rule(hg push)").unwrap();
    assert_eq!((hg.line, hg.reason.as_deref()), (4, Some("hg pushes")));
}

#[test]
fn a_program_that_codex_would_not_take_is_an_error_with_its_place() {
    for (text, said, at) in [
        ("x = 1\nprefix_rule([str(x)], \"deny\")", "invalid decision: deny", "prefix_rule"),
        ("x = [\"a\"]\nprefix_rule(x, match = [\"b\"])", "unmatched examples", "prefix_rule"),
        ("x = 1 +", "unexpected new line", "\n"),
        ("print(1)", "`print` not found", "print"),
        ("x = 1\nprefix_rule([\"a\\0b\"])", "NUL", "prefix_rule"),
        ("while True: pass", "reserved keyword `while`", "while"),
    ] {
        let faults = read(text).unwrap_err();
        let [fault] = faults.as_slice() else { panic!("{text}: {faults:?}") };
        assert!(fault.message.contains(said), "{text}: {fault:?}");
        assert!(fault.loses_restriction);
        let found = format!("{text}\n");
        assert!(found.get(fault.span.start..).unwrap().starts_with(at), "{text}: {fault:?}");
    }
}
