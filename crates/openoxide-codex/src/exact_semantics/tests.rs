//! Recorded answers of the real program to calls of its shell tool.

use serde_json::Value;

use super::{
    AskForApproval, CallEvaluator, ExecPolicy, LaunchContext, RuleFileError, ShellToolCall,
    WritableRoots,
};

const RECORDED: &str = include_str!("../../../../corpus/codex/decide.ndjson");
const PLACE: LaunchContext<'_> = LaunchContext { cwd: "/ws", home: Some("/home/me") };

fn answer(row: &Value) -> Value {
    let text = |name: &str| row[name].as_str().unwrap();
    let mut policy = ExecPolicy::default();
    policy
        .add_source("x.rules", text("rules"), &PLACE, |_| {
            Err(RuleFileError::limit_exceeded("no language"))
        })
        .unwrap();
    let approval = match &row["policy"] {
        Value::String(name) => name.parse().unwrap(),
        object => serde_json::from_value::<AskForApproval>(object.clone()).unwrap(),
    };
    let judge = CallEvaluator {
        policy: &policy,
        approval,
        sandbox: text("sandbox").parse().unwrap(),
        dialect: text("dialect").parse().unwrap(),
        context: PLACE,
        shell: "/bin/bash",
        writable_roots: WritableRoots::default(),
    };
    let call: ShellToolCall = serde_json::from_value(row["call"].clone()).unwrap();
    serde_json::to_value(judge.decide(call)).unwrap()
}

// Rows that were recorded with `cargo xtask codex-session --record`, and earlier observations.
#[test]
fn recorded_calls_are_decided_exactly_as_by_codex() {
    let rows = RECORDED.lines().map(|row| serde_json::from_str::<Value>(row).unwrap());
    let mut wrong = Vec::new();
    let mut count = 0;
    for row in rows {
        count += 1;
        let found = answer(&row);
        let differs =
            ["verdict", "reason", "amend", "avail"].iter().any(|name| found[name] != row[name]);
        if differs {
            wrong.push(format!("{row}\n  found {found}"));
        }
    }
    assert!(count >= 500, "{count}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}
