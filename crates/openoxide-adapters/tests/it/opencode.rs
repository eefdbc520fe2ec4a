//! Answers and questions of the real OpenCode 1.18.33 (`corpus/opencode`).

use openoxide_adapters::{
    opencode::{OpenCodeRequest, OpenCodeRule, OpenCodeRuleset, collect_permission_requests},
    policy_translation::{CallContext, DiskLookup},
};
use openoxide_protocol::{AbsPath, Effect};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;

const EVALUATIONS: &str = include_str!("../../../../corpus/opencode/evaluate.json");
const COMMANDS: &str = include_str!("../../../../corpus/opencode/bash.json");

fn corpus<T: DeserializeOwned>(text: &str) -> Vec<T> {
    serde_json::from_str(text).unwrap()
}

#[derive(Deserialize)]
struct Evaluation {
    ruleset: Vec<Row>,
    checks: Vec<Check>,
    effects: Vec<Effect>,
}

#[derive(Deserialize)]
struct Row {
    permission: String,
    pattern: String,
    action: Effect,
}

#[derive(Debug, Deserialize)]
struct Check {
    permission: String,
    patterns: Vec<String>,
}

#[test]
fn every_recorded_answer_of_the_engine_is_ours() {
    let mut count = 0;
    for evaluation in corpus::<Evaluation>(EVALUATIONS) {
        let rule = |row: &Row| OpenCodeRule::new(&row.permission, &row.pattern, row.action);
        let rules = OpenCodeRuleset(evaluation.ruleset.iter().map(rule).collect());
        assert_eq!(evaluation.checks.len(), evaluation.effects.len());
        for (check, effect) in evaluation.checks.iter().zip(&evaluation.effects) {
            let found = rules.evaluate_all(&check.permission, &check.patterns);
            assert_eq!(found, *effect, "{:?} {check:?}", rules.0);
            count += 1;
        }
    }
    assert!(count > 1600, "{count}");
}

/// The machine that the commands were recorded on.
struct Recorded;

impl DiskLookup for Recorded {
    fn is_directory(&self, path: &AbsPath) -> bool {
        const DIRECTORIES: &[&str] = &[
            "/",
            "/dev",
            "/etc",
            "/opt",
            "/tmp",
            "/var",
            "/w",
            "/w/home",
            "/w/proj2",
            "/w/proj2/sub",
        ];
        DIRECTORIES.contains(&path.as_str())
    }

    fn resolve_links(&self, path: &AbsPath) -> AbsPath {
        path.clone()
    }
}

#[derive(Deserialize)]
struct Asked {
    command: String,
    workdir: Option<String>,
    asks: Vec<Ask>,
}

#[derive(Debug, Deserialize)]
struct Ask {
    permission: String,
    patterns: Vec<String>,
    always: Vec<String>,
}

impl Ask {
    fn question(&self) -> OpenCodeRequest {
        OpenCodeRequest {
            permission: self.permission.clone(),
            patterns: self.patterns.clone(),
            always_patterns: self.always.clone(),
        }
    }
}

#[test]
fn every_command_raises_the_questions_that_it_raised_there() {
    let (cwd, home) = (AbsPath::new("/w/proj2").unwrap(), AbsPath::new("/w/home").unwrap());
    let at = CallContext { cwd: &cwd, home: Some(&home), worktree: Some(&cwd), disk: &Recorded };
    let (rows, mut wrong) = (corpus::<Asked>(COMMANDS), Vec::new());
    for row in &rows {
        let mut input = json!({ "command": row.command });
        if let Some(directory) = &row.workdir {
            input["workdir"] = json!(directory);
        }
        let expected: Vec<_> = row.asks.iter().map(Ask::question).collect();
        let found = collect_permission_requests("bash", &input, at).unwrap();
        if found != expected {
            wrong.push(format!(
                "{}\n    expected {expected:?}\n    found    {found:?}",
                row.command
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
