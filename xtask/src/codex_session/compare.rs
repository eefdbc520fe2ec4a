//! The rules for when two answers are the same, and the row that is recorded for a case.

use serde_json::{Value, json};

use super::{
    answer::Answer,
    generate::{Call, Setting},
};

/// Returns the description of a difference, if there is one.
pub(super) fn difference(
    setting: &Setting,
    call: &Call,
    ours: &Answer,
    theirs: &Answer,
) -> Option<String> {
    let parts = [
        ("verdict", ours.verdict != theirs.verdict),
        ("reason", ours.reason != theirs.reason),
        ("amend", ours.amend != theirs.amend),
        ("avail", ours.avail != theirs.avail),
        ("files", ours.files != theirs.files),
    ];
    let differ: Vec<_> = parts.iter().filter(|part| part.1).map(|part| part.0).collect();
    let shown = || {
        let Setting { policy, sandbox, files, .. } = setting;
        let files = files.join("-- next file\n");
        let (kinds, case) = (call.kinds.join(" + "), &call.arguments);
        let [ours, theirs] = [ours, theirs].map(|answer| answer.row(json!({})));
        format!(
            "\n== {} ({kinds})\n{files}-- {policy} {sandbox}\n{case}\nours   {ours}\ntheirs {theirs}",
            differ.join(", "),
        )
    };
    (!differ.is_empty()).then(shown)
}

/// Returns a row of the corpus: the case and the answer of Codex. Several rule files are written as
/// one text, which means the same.
pub(super) fn row(setting: &Setting, call: &Call, theirs: &Answer) -> Value {
    let Setting { dialect, policy, sandbox, files } = setting;
    let case = json!({
        "dialect": dialect, "policy": policy, "sandbox": sandbox, "rules": files.concat(),
        "call": call.arguments,
    });
    theirs.row(case)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_of_an_answer_is_compared() {
        let files = vec!["prefix_rule(pattern=[\"uu\"])\n".to_owned()];
        let dialect = "0.169".to_owned();
        let setting = Setting { dialect, policy: json!("never"), sandbox: "read-only", files };
        let call = Call { kinds: vec!["plain"], arguments: json!({ "cmd": "uu" }) };
        let answer = |line| Answer::ours(line).unwrap();
        let theirs = answer(r#"{"verdict":"PROMPT","amend":["uu"],"avail":["accept"]}"#);
        let difference = |line| difference(&setting, &call, &answer(line), &theirs);
        assert_eq!(difference(r#"{"verdict":"PROMPT","amend":["uu"],"avail":["accept"]}"#), None);
        let shown = difference(r#"{"verdict":"RUN","reason":"x"}"#).unwrap();
        assert!(shown.starts_with("\n== verdict, reason, amend, avail (plain)"), "{shown}");
        let row = row(&setting, &call, &theirs);
        assert_eq!((&row["call"]["cmd"], &row["amend"]), (&json!("uu"), &json!(["uu"])));
    }
}
