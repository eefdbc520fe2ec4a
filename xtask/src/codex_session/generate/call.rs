//! The arguments of a call: the script, and the details that the model adds.

use serde_json::{Map, Value, json};

use crate::{codex_diff::generate::words::one, crash::chance::Chance};

use super::{Call, script};

pub(super) fn new(chance: &mut Chance) -> Call {
    let (kinds, script) = script::script(chance);
    let mut arguments = Map::new();
    let mut say = |name: &str, value: Value| arguments.insert(name.to_owned(), value);
    let login = one(chance, &[None, None, None, Some(true), Some(false), Some(false), Some(false)]);
    if let Some(login) = login {
        say("login", json!(login));
    }
    let ways = [None, None, None, None, Some("use_default"), Some("require_escalated")];
    let way = one(chance, &ways).or(chance.percent(20).then_some("require_escalated"));
    if let Some(way) = way {
        say("sandbox_permissions", json!(way));
    }
    // Without `sandbox_permissions`, Codex expects no justification.
    if chance.percent(if way.is_some() { 55 } else { 3 }) {
        let why = ["j", "because é", "two\nlines", "", " ", "say \"yes\""];
        say("justification", json!(one(chance, &why)));
    }
    if chance.percent(if way.is_some() { 55 } else { 12 }) {
        say("prefix_rule", prefix(chance, &script, login.unwrap_or(true)));
    }
    if chance.percent(4) {
        say("workdir", json!("sub"));
    }
    say("cmd", json!(script));
    Call { kinds, arguments: arguments.into() }
}

/// Returns the prefix that the model asks to allow. It is usually the beginning of the script.
fn prefix(chance: &mut Chance, script: &str, login: bool) -> Value {
    let words: Vec<&str> = script.split_whitespace().take(3).collect();
    let shell = ["/bin/bash", if login { "-lc" } else { "-c" }, script];
    let odd = [json!([]), json!(["zz"]), json!(["uu", ""]), json!(["UU"]), json!([""])];
    let first = |words: &[&str], count| json!(words.get(..count).unwrap_or(words));
    match chance.below(100) {
        0..=64 => first(&words, one(chance, &[1, 1, 2, 2, 3])),
        65..=74 => first(&shell, one(chance, &[1, 2, 3, 3, 3])),
        75..=82 => json!([words, vec!["zz"]].concat()),
        83..=92 => banned(chance),
        _ => one(chance, &odd),
    }
}

/// Returns a prefix that Codex never proposes, or one that is similar to it.
fn banned(chance: &mut Chance) -> Value {
    let prefixes: [&[&str]; 14] = [
        &["bash"],
        &["bash", "-c"],
        &["sh", "-lc"],
        &["/bin/bash", "-lc"],
        &["env"],
        &["sudo"],
        &["rm"],
        &["git"],
        &["python3", "-c"],
        &["rm", "-rf"],
        &["git", "-C"],
        &["python3"],
        &["node", "-e"],
        &["bash", "-x"],
    ];
    json!(one(chance, &prefixes))
}
