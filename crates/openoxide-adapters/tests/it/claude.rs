//! Decisions of the real Claude Code 2.1.330 (`corpus/claude/decisions.tsv`).

use std::collections::BTreeSet;

use openoxide_adapters::{
    claude_code::{ClaudeMode, ClaudePolicy, ClaudeSettings},
    policy_translation::{CallContext, DiskLookup},
};
use openoxide_protocol::AbsPath;
use serde_json::{Value, json};

const PROJECT: &str = "/tmp/w/project";
const HOME: &str = "/tmp/w/home";

/// The machine that the decisions were recorded on.
struct Recorded;

const LINKS: &[(&str, &str)] = &[
    ("/tmp/w/project/link_env", "/tmp/w/project/.env"),
    ("/tmp/w/project/lnk", "/tmp/w/project/.env"),
    ("/tmp/w/project/link_src", "/tmp/w/project/src"),
    ("/tmp/w/project/link_out", "/tmp/w/home/docs/h.md"),
    ("/tmp/w/project/linkdir_out", "/tmp/w/home/docs"),
];

impl DiskLookup for Recorded {
    fn is_directory(&self, path: &AbsPath) -> bool {
        path.as_str() == PROJECT
    }

    fn resolve_links(&self, path: &AbsPath) -> AbsPath {
        let real = LINKS.iter().find_map(|(link, target)| {
            let rest = path.strip_prefix(&AbsPath::new(link).unwrap())?;
            Some(AbsPath::new(target).unwrap().join(rest))
        });
        real.unwrap_or_else(|| path.clone())
    }
}

fn placed(text: &str) -> String {
    let text = text.replace("%%P", PROJECT).replace("%%H", HOME);
    text.replace("%P", PROJECT).replace("%H", HOME)
}

fn judged(mode: &str, rules: &str, tool: &str, input: &str) -> String {
    let (cwd, home) = (AbsPath::new(PROJECT).unwrap(), AbsPath::new(HOME).unwrap());
    let at = CallContext { cwd: &cwd, home: Some(&home), worktree: None, disk: &Recorded };
    let mut permissions: Value = serde_json::from_str(&placed(rules)).unwrap();
    permissions["defaultMode"] = json!(mode);
    let text = json!({ "permissions": permissions }).to_string();
    let settings = ClaudeSettings::parse(&text, "settings.json", &cwd).unwrap();
    let policy = ClaudePolicy::new(settings, None::<ClaudeMode>);
    let input: Value = serde_json::from_str(&placed(input)).unwrap();
    match policy.check_call(tool, &input, at) {
        Ok(decision) => decision.effect.as_str().to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Returns the expected decision. A call that the client refuses before it checks any rule is
/// denied here.
fn expected(verdict: &str) -> &str {
    if verdict == "error" { "deny" } else { verdict }
}

const DECISIONS: &str = include_str!("../../../../corpus/claude/decisions.tsv");
const MORE_DECISIONS: &str = include_str!("../../../../corpus/claude/more-decisions.tsv");
const DIFFERENCES: &str = include_str!("../../../../corpus/claude/exact-differences.tsv");

fn rows(text: &str, columns: usize) -> Vec<Vec<String>> {
    let row = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    let rows: Vec<_> = text.lines().skip(1).map(row).collect();
    assert!(!rows.is_empty() && rows.iter().all(|row| row.len() == columns));
    rows
}

#[test]
fn nearly_every_recorded_decision_is_ours() {
    let listed: BTreeSet<Vec<String>> =
        rows(DIFFERENCES, 7).into_iter().map(|row| row[..6].to_vec()).collect();
    for text in [DECISIONS, MORE_DECISIONS] {
        let rows = rows(text, 5);
        let (mut same, mut wrong) = (0, Vec::new());
        for row in &rows {
            let found = judged(&row[0], &row[1], &row[2], &row[3]);
            let difference = [row.as_slice(), std::slice::from_ref(&found)].concat();
            match found == expected(&row[4]) {
                true if listed.contains(&difference) => {
                    wrong.push(format!("is listed: {}", difference.join("\t")));
                }
                true => same += 1,
                false if listed.contains(&difference) => {}
                false => wrong.push(difference.join("\t")),
            }
        }
        assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
        assert!(same * 100 >= rows.len() * 97, "{same} of {}", rows.len());
    }
}

#[test]
fn every_listed_difference_has_a_reason() {
    let rows = rows(DIFFERENCES, 7);
    assert!(!rows.is_empty() && rows.iter().all(|row| row[4] != row[5] && !row[6].is_empty()));
}
