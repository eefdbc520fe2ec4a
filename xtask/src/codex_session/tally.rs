//! The number of occurrences of each verdict, setting and kind of script.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{
    answer::Answer,
    generate::{Call, Setting},
};

/// The counts, by heading and name.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<(&'static str, String), u64>);

impl Tally {
    pub(super) fn count(&mut self, setting: &Setting, call: &Call, answer: &Answer) {
        self.one("verdict", &answer.verdict);
        self.one("policy", &policy(setting));
        self.one("sandbox", setting.sandbox);
        self.one("outcome", &outcome(call, answer));
        for name in ["login", "sandbox_permissions", "justification", "prefix_rule", "workdir"] {
            if call.arguments.get(name).is_some() {
                self.one("argument", name);
            }
        }
        for kind in &call.kinds {
            self.one("script", kind);
        }
    }

    fn one(&mut self, heading: &'static str, name: &str) {
        *self.0.entry((heading, name.to_owned())).or_default() += 1;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        for ((heading, name), count) in &self.0 {
            if *heading != before {
                write!(out, "{}{heading}: ", if before.is_empty() { "" } else { "\n" })?;
            }
            write!(out, "{}{name} {count}", if *heading == before { ", " } else { "" })?;
            before = heading;
        }
        Ok(())
    }
}

/// Returns a short name. That of a granular policy lists its categories.
fn policy(setting: &Setting) -> String {
    let may = |flag: &str| setting.policy.pointer(&format!("/granular/{flag}"));
    let letter = |flag, letter| if may(flag) == Some(&true.into()) { letter } else { "-" };
    match setting.policy.as_str() {
        Some(name) => name.to_owned(),
        None => format!("granular({}{})", letter("sandbox_approval", "S"), letter("rules", "R")),
    }
}

/// Returns the kind of the reason, and whether an amendment is offered.
fn outcome(call: &Call, answer: &Answer) -> String {
    let reason = answer.reason.as_str().unwrap_or_default();
    let kind = [
        ("requires approval by policy", "rule"),
        ("requires approval: ", "rule, justified"),
        ("policy forbids commands", "forbidden"),
        ("rm -f style", "forced rm"),
        ("cannot ask for escalated", "escalation"),
        ("AskForApproval is set to Never", "never asks"),
        ("Granular.rules is false", "rules false"),
        ("Granular.sandbox_approval is false", "sandbox_approval false"),
        (" rejected: ", "forbidden, justified"),
        ("`justification` requires", "justified for nothing"),
    ];
    let found = kind.iter().find(|(words, _)| reason.contains(words)).map(|(_, kind)| *kind);
    let kind = found.unwrap_or(if reason.is_empty() { "no reason" } else { "the model's reason" });
    let offered = match &answer.amend {
        Value::Null => "",
        amend if call.arguments.get("prefix_rule") == Some(amend) => ", the model's amendment",
        _ => ", amendment",
    };
    format!("{} ({kind}{offered})", answer.verdict)
}
