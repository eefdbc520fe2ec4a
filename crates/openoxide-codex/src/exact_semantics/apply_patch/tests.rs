//! Recorded answers of the real program to patches.

use serde_json::Value;

use super::super::{
    AskForApproval, CallEvaluator, CallOutcome, ExecPolicy, LaunchContext, ShellToolCall,
    WritableRoots,
};

const RECORDED: &str = include_str!("../../../../../corpus/codex/patches.ndjson");
const PLACE: LaunchContext<'_> = LaunchContext { cwd: "/w/p", home: Some("/home/me") };

fn answer(row: &Value) -> CallOutcome {
    let text = |name: &str| row[name].as_str().unwrap();
    let approval: AskForApproval = serde_json::from_value(row["policy"].clone()).unwrap();
    let roots = ["/tmp".to_owned()];
    let judge = CallEvaluator {
        policy: &ExecPolicy::default(),
        approval,
        sandbox: text("sandbox").parse().unwrap(),
        dialect: text("dialect").parse().unwrap(),
        context: PLACE,
        shell: "/bin/bash",
        writable_roots: WritableRoots { roots: &roots },
    };
    match row["call"]["patch"].as_str() {
        Some(patch) => judge.decide_apply_patch(patch),
        None => {
            let call: ShellToolCall = serde_json::from_value(row["call"].clone()).unwrap();
            judge.decide(call)
        }
    }
}

/// Returns the changes as Codex shows them: sorted, and only the last one of each file.
fn shown(found: &Value) -> Value {
    let changes = found["changes"].as_array().cloned().unwrap_or_default();
    let each = changes.into_iter().map(|change| {
        let kind = &change["kind"];
        let path = change["path"].as_str().unwrap().to_owned();
        (path, serde_json::json!([change["path"], kind["type"], kind["move_path"]]))
    });
    let sorted: std::collections::BTreeMap<_, _> = each.collect();
    sorted.into_values().collect()
}

// Recorded from 0.169.0 and 0.145.0, without the patches that do not match the contents of their
// files.
#[test]
fn recorded_patches_are_decided_exactly_as_by_codex() {
    let rows = RECORDED.lines().map(|row| serde_json::from_str::<Value>(row).unwrap());
    let (mut wrong, mut count) = (Vec::new(), 0);
    for row in rows {
        count += 1;
        let found = serde_json::to_value(answer(&row)).unwrap();
        let same = found["verdict"] == row["verdict"] && found["reason"] == row["reason"];
        let is_command = row["command"] == true;
        let changes = row.get("changes").is_none_or(|changes| *changes == shown(&found));
        if !same
            || is_command == found.get("changes").is_some() && row["verdict"] == "PROMPT"
            || !changes
        {
            wrong.push(format!("{row}\n  found {found}"));
        }
    }
    assert!(count >= 1_000, "{count}");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

// Observed on 0.169.0 with `cargo xtask codex-session`.
#[test]
fn an_unexpected_file_header_is_shown_without_trailing_blanks() {
    let patch = "*** Begin Patch\n*** Update File: /p/n\n@@\n*** Add File: n \n+a\n*** End Patch";
    let row = serde_json::json!({
        "dialect": "0.169", "policy": "untrusted", "sandbox": "read-only", "call": { "patch": patch },
    });
    let reason = answer(&row).reason.unwrap();
    assert!(reason.contains("in update hunk: '*** Add File: n'. Every"), "{reason}");
}
