//! Payloads that are made to take long.

use std::path::Path;

use serde_json::{Value, json};

use crate::crash::chance::Chance;

/// The kinds of payloads, by the element that each has many of. The cases use them in turn.
pub(super) const KINDS: [&str; 16] = [
    "stars",
    "words with stars",
    "brackets",
    "question marks",
    "braces",
    "pipelines",
    "nesting",
    "substitutions",
    "deep paths",
    "links",
    "printed names",
    "moved trees",
    "repositories",
    "long words",
    "large input",
    "words by chance",
];

/// Pieces of scripts.
const PIECES: [&str; 24] = [
    "*", "a", "?", "[", "]", "{", "}", ",", "..", "/", "$(", ")", "`", "'", "\"", "|", ";", "&&",
    "<<E\n", " many/", " links/1", " $X", "\n", "\\",
];

/// Returns the payload of a case.
pub(super) fn payload(case: u64, project: &Path, chance: &mut Chance) -> String {
    let kind = usize::try_from(case).unwrap_or(0) % KINDS.len();
    let size = 1 + number(chance, 4_000);
    let input = match KINDS.get(kind) {
        Some(&"large input") => large(size, chance),
        Some(kind) => json!({ "command": script(kind, size, chance) }),
        None => Value::Null,
    };
    let tool = if input.get("command").is_some() { "Bash" } else { "mcp__server__tool" };
    json!({
        "session_id": "s", "cwd": project, "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "tool_use_id": "t",
    })
    .to_string()
}

fn script(kind: &str, size: usize, chance: &mut Chance) -> String {
    let few = 1 + size / 40;
    match kind {
        "stars" => format!("cat many/{}b", "*".repeat(size * 2)),
        "words with stars" => {
            let word = pick(chance, &["*a*b7", "*a*a*a*a*a*b", "*", "many/*a*b", "*/*/*/*"]);
            format!("cd many; cat{}", format!(" {word}").repeat(size / 2))
        }
        "brackets" => {
            format!("cat many/{}", pick(chance, &["[]", "[a", "[a-z]*", "[!]]"]).repeat(few))
        }
        "question marks" => format!("cat many/{}*{}b", "?".repeat(few), "*?".repeat(size / 4)),
        "braces" => {
            let brace = pick(chance, &["{a,b}", "{1..10000}", "{a,{b,{c,d}}}", "{,}{,}"]);
            format!("cat {}", brace.repeat(few))
        }
        "pipelines" => format!(
            "cat many/*{}",
            pick(chance, &[" | sort", " && ls", "; git status", " | xargs cat", "; cargo -V"])
                .repeat(size / 2)
        ),
        "nesting" => {
            let (open, close) = pick(
                chance,
                &[
                    ("(", ")"),
                    ("{ ", "; }"),
                    ("if ", "; then :; fi"),
                    ("$(", ")"),
                    ("[[ ( ", " ) ]]"),
                ],
            );
            format!("{}ls{}", open.repeat(size), close.repeat(size))
        }
        "substitutions" => format!(
            "ls{}",
            pick(chance, &[" $(cat x)", " `ls`", " <(ls)", " ${X:-$Y}", " $((1+1))"])
                .repeat(size / 2)
        ),
        "deep paths" => format!("cat{}", format!(" deep/{}x", "d/".repeat(few * 4)).repeat(few)),
        "links" => {
            format!("cat{}", (0..few).map(|at| format!(" links/{at}/../{at}")).collect::<String>())
        }
        "printed names" => format!("ls many | xargs cat{}", "; find wide | xargs cat".repeat(few)),
        "moved trees" => format!("{}cat e/x", "cp -r wide e; mv links f; ".repeat(few)),
        "repositories" => (0..size).map(|at| format!("git -C wide/{at} status; ")).collect(),
        "long words" => format!(
            "cat {}",
            pick(chance, &["a", "../", "./", "\\a", "''", "\"\""]).repeat(size * 20)
        ),
        _ => (0..size).map(|_| pick(chance, &PIECES)).collect(),
    }
}

/// Returns an input with very much in it.
fn large(size: usize, chance: &mut Chance) -> Value {
    match number(chance, 4) {
        0 => json!({ "text": "x".repeat(size * 2_000) }),
        1 => json!({ "list": vec![1; size * 200] }),
        2 => (0..size.min(100)).fold(Value::Null, |inner, _| json!([inner])),
        _ => Value::Object((0..size * 10).map(|key| (key.to_string(), Value::Null)).collect()),
    }
}

fn number(chance: &mut Chance, bound: usize) -> usize {
    let bound = u64::try_from(bound.max(1)).unwrap_or(1);
    usize::try_from(chance.below(bound)).unwrap_or_default()
}

fn pick<T: Copy + Default>(chance: &mut Chance, choices: &[T]) -> T {
    choices.get(number(chance, choices.len())).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_makes_a_payload_and_the_same_seed_the_same() {
        for case in 0..64 {
            let one = |seed| payload(case, Path::new("/p"), &mut Chance::new(seed));
            let read: Value = serde_json::from_str(&one(case)).unwrap();
            assert!(read["tool_input"].is_object() || read["tool_input"].is_array(), "{case}");
            assert_eq!(one(case), one(case));
        }
    }
}
