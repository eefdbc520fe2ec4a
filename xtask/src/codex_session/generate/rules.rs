//! Valid rule files for the programs of the scripts.

use serde_json::{Value, json};

use crate::{codex_diff::generate::words::one, crash::chance::Chance};

use super::script::{PROGRAMS, WORDS};

/// Returns the texts of up to two files.
pub(super) fn files(chance: &mut Chance) -> Vec<String> {
    match chance.below(100) {
        0..=9 => Vec::new(),
        // The order of several such rules is random, and so is the reason.
        10..=14 => vec![prefix_rule(chance, true)],
        15..=79 => vec![file(chance)],
        _ => vec![file(chance), file(chance)],
    }
}

fn file(chance: &mut Chance) -> String {
    let rules = chance.below(7) + 3;
    let mut text: String = (0..rules).map(|_| prefix_rule(chance, false)).collect();
    if chance.percent(30) {
        text += &host_executable(chance);
    }
    text
}

fn prefix_rule(chance: &mut Chance, canonical: bool) -> String {
    let mut arguments = vec![format!("pattern={}", pattern(chance))];
    if chance.percent(85) {
        let decision = one(chance, &["allow", "prompt", "forbidden"]);
        arguments.push(format!("decision={}", json!(decision)));
    }
    if chance.percent(40) {
        let why = ["J", "use `trash`", "say \"no\"", "é\nzwei", " two  words ", "it's", "$x \\ y"];
        arguments.push(format!("justification={}", json!(one(chance, &why))));
    }
    arguments.extend(canonical.then(|| "canonical_matching=True".to_owned()));
    format!("prefix_rule({})\n", arguments.join(", "))
}

/// Patterns usually have one or two words, so that rules match commands.
fn pattern(chance: &mut Chance) -> Value {
    if chance.percent(20) {
        return odd(chance);
    }
    let mut pattern = vec![place(chance, &PROGRAMS)];
    for _ in 0..one(chance, &[0, 0, 0, 1, 1, 2]) {
        pattern.push(place(chance, &WORDS));
    }
    pattern.into()
}

fn place(chance: &mut Chance, words: &[&str]) -> Value {
    match chance.below(100) {
        0..=84 => json!(one(chance, words)),
        85..=89 => json!([one(chance, words)]),
        _ => json!([one(chance, words), one(chance, words), one(chance, words)]),
    }
}

/// Wrappers, programs that run another command, and the shell that runs other scripts.
fn odd(chance: &mut Chance) -> Value {
    let patterns = [
        json!(["rm"]),
        json!(["rm", "-rf"]),
        json!(["rm", ["-f", "-rf"], "zz"]),
        json!(["bash"]),
        json!(["bash", "-c"]),
        json!(["bash", "-lc"]),
        json!(["/bin/bash"]),
        json!(["/bin/bash", "-lc"]),
        json!(["/bin/bash", ["-c", "-lc"], "uu $x"]),
        json!(["env"]),
        json!(["env", "-i"]),
        json!(["sudo"]),
        json!(["sudo", "rm"]),
        json!(["trap"]),
        json!(["time"]),
        json!(["time", "uu"]),
        json!(["exec"]),
        json!(["."]),
        json!([":"]),
        json!(["git"]),
        json!(["cd"]),
        json!(["/opt/x/uu"]),
        json!(["./al"]),
        json!(["/ws/fb"]),
    ];
    one(chance, &patterns)
}

fn host_executable(chance: &mut Chance) -> String {
    let name = one(chance, &["uu", "al", "fb", "pm", "bash", "rm"]);
    let places = ["/bin", "/usr/bin", "/opt/x", "/ws", "/ws/sub"];
    let count = chance.below(3);
    let paths: Vec<_> = (0..count).map(|_| format!("{}/{name}", one(chance, &places))).collect();
    format!("host_executable(name={}, paths={})\n", json!(name), json!(paths))
}
