//! The rules for when two answers are the same.

use std::fmt;

use serde_json::Value;

use super::{ask::Answer, generate::Case};

/// A case that the programs answer differently.
#[derive(Debug)]
pub(super) struct Difference {
    number: u64,
    shown: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "\n== case {}\n{}", self.number, self.shown)
    }
}

/// Returns the difference between two answers, if there is one.
pub(super) fn difference(
    number: u64,
    case: &Case,
    ours: &Answer,
    theirs: &Answer,
) -> Option<Difference> {
    let files = case.files.join("\n-- next file\n");
    let head = format!("{files}\n-- {:?} resolve={}", case.command, case.resolve);
    let shown = |what: &str| format!("{head}\n-- {what}\nours   {ours:?}\ntheirs {theirs:?}");
    if ours.code != theirs.code {
        return Some(Difference { number, shown: shown("status") });
    }
    if matches(&ours.stdout, case) != matches(&theirs.stdout, case) {
        return Some(Difference { number, shown: shown("output") });
    }
    let differs = message(&ours.stderr) != message(&theirs.stderr);
    (differs && !unordered(case) && plain(&theirs.stderr))
        .then(|| Difference { number, shown: shown("message") })
}

/// Codex keeps rules in a table without order. If a rule has more than one spelling, the order in
/// its answer is random.
fn unordered(case: &Case) -> bool {
    case.files.iter().any(|text| text.contains("canonical_matching"))
}

/// Returns the answer in an order that can be compared.
fn matches(stdout: &str, case: &Case) -> String {
    let mut value: Value = match serde_json::from_str(stdout) {
        Ok(value) if unordered(case) => value,
        _ => return stdout.to_owned(),
    };
    if let Some(rules) = value.get_mut("matchedRules").and_then(Value::as_array_mut) {
        rules.sort_by_key(ToString::to_string);
    }
    value.to_string()
}

/// The usage names the program.
fn message(stderr: &str) -> String {
    stderr.replace("openoxide codex", "codex").trim_end().to_owned()
}

/// OpenOxide escapes control characters, and Codex does not.
fn plain(text: &str) -> bool {
    let combines = |c: char| ('\u{300}'..'\u{370}').contains(&c);
    !text.chars().any(|c| c.is_control() && c != '\n' || combines(c))
}

/// Returns a row of the corpus: the case and the answer of Codex.
pub(super) fn row(case: &Case, theirs: &Answer) -> String {
    let mut row = case.row();
    if let Some(row) = row.as_object_mut() {
        row.insert("code".to_owned(), theirs.code.into());
        row.insert("stdout".to_owned(), theirs.stdout.as_str().into());
        row.insert("stderr".to_owned(), theirs.stderr.as_str().into());
    }
    row.to_string()
}
