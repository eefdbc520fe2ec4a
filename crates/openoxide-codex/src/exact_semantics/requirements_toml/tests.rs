//! Recorded answers of the real programs with an administrator's files.

use serde_json::Value;

use super::*;
use crate::exact_semantics::{
    AskForApproval, CallEvaluator, LaunchContext, RuleFileError, ShellToolCall, WritableRoots,
};

const ERRORS: &str = include_str!("../../../../../corpus/codex/requirements-errors.ndjson");
const RECORDED: &str = include_str!("../../../../../corpus/codex/managed.ndjson");
const MANAGED: &str = include_str!("../../../../../corpus/codex/managed.toml");
const RULES: &str = include_str!("../../../../../corpus/codex/managed.rules");
const PLACE: LaunchContext<'_> = LaunchContext { cwd: "/ws", home: Some("/home/me") };

fn rows(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|row| serde_json::from_str(row).unwrap())
}

#[test]
fn a_file_that_codex_would_not_take_is_refused_in_its_words() {
    let (mut taken, mut refused) = (0, 0);
    for row in rows(ERRORS) {
        let text = |name: &str| row[name].as_str();
        let (dialect, given) = (text("dialect").unwrap(), text("requirements").unwrap());
        let found = ExecPolicy::default().add_requirements(
            "requirements.toml",
            given,
            dialect.parse().unwrap(),
        );
        // 0.145 lists the three decisions that it knows, OpenOxide lists all four. 0.145 also
        // ignores an unknown key.
        if dialect == "0.145" && given.contains("canonical_matching=\"x\"") {
            assert!(found.is_err() && row["error"].is_null());
            continue;
        }
        let older = |error: &str| dialect == "0.145" && error.contains("unknown variant");
        match (found, text("error")) {
            (Err(found), Some(error)) if older(error) => {
                assert!(!found.to_string().is_empty(), "{given}");
                refused += 1;
            }
            (Err(found), Some(error)) => {
                assert_eq!(found.to_string().trim_end(), error, "{dialect}\n{given}");
                refused += 1;
            }
            (found, None) => {
                assert_eq!(found, Ok(()), "{dialect}\n{given}");
                taken += 1;
            }
            (Ok(()), Some(error)) => panic!("{given} is taken, there {error}"),
        }
    }
    assert!(taken > 10 && refused > 40, "{taken} {refused}");
}

#[test]
fn rules_of_an_administrator_are_asked_and_refused_as_codex_does() {
    let mut policy = ExecPolicy::default();
    policy
        .add_source("x.rules", RULES, &PLACE, |_| Err(RuleFileError::limit_exceeded("no language")))
        .unwrap();
    policy.add_requirements("requirements.toml", MANAGED, CodexDialect::V0169).unwrap();
    let (mut people, mut count) = (0, 0);
    for row in rows(RECORDED) {
        let approval: AskForApproval = serde_json::from_value(row["policy"].clone()).unwrap();
        let judge = CallEvaluator {
            policy: &policy,
            approval,
            sandbox: row["sandbox"].as_str().unwrap().parse().unwrap(),
            dialect: CodexDialect::V0169,
            context: PLACE,
            shell: "/bin/bash",
            writable_roots: WritableRoots::default(),
        };
        let call: ShellToolCall = serde_json::from_value(row["call"].clone()).unwrap();
        let found = serde_json::to_value(judge.decide(call)).unwrap();
        for name in ["verdict", "reason", "amend", "avail", "kind"] {
            assert_eq!(found[name], row[name], "{name} of {row}");
        }
        people += usize::from(row["kind"] == "humanCommand");
        count += 1;
    }
    assert!(people > 50 && count > 300, "{people} {count}");
}
