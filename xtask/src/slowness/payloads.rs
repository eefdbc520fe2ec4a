//! Payloads that are made to take long.

use std::{path::Path, time::Duration};

use serde_json::json;

use crate::crash::chance::Chance;

use super::{
    inputs,
    scripts::{self, number},
};

/// A kind of payloads, named by the element that each has many of. The cases use the kinds in turn.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    input: Input,
}

/// The input of a kind.
#[derive(Clone, Copy, Debug)]
enum Input {
    /// A script of this size.
    Script(fn(usize, &mut Chance) -> String),
    /// A tool, and its input as JSON.
    Call(fn(usize, &mut Chance) -> (&'static str, String)),
    /// A payload that comes slowly, or does not end.
    Stopped,
}

/// A payload of the hook.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Payload {
    /// The index of its kind.
    pub(super) kind: usize,
    pub(super) text: String,
    /// The pause in the middle.
    pub(super) pause: Option<Duration>,
    /// False if only the first half is sent.
    pub(super) ends: bool,
}

const fn script(name: &'static str, make: fn(usize, &mut Chance) -> String) -> Kind {
    Kind { name, input: Input::Script(make) }
}

const fn call(name: &'static str, make: fn(usize, &mut Chance) -> (&'static str, String)) -> Kind {
    Kind { name, input: Input::Call(make) }
}

/// All kinds.
pub(super) const KINDS: [Kind; 32] = [
    script("stars", scripts::stars),
    script("words with stars", scripts::words_with_stars),
    script("brackets", scripts::brackets),
    script("question marks", scripts::question_marks),
    script("braces", scripts::braces),
    script("pipelines", scripts::pipelines),
    script("parts", scripts::parts),
    script("rules", scripts::rules),
    script("nesting", scripts::nesting),
    script("substitutions", scripts::substitutions),
    script("here-documents", scripts::here_documents),
    script("loops", scripts::loops),
    script("functions", scripts::functions),
    script("doubled values", scripts::doubled_values),
    script("cases", scripts::cases),
    script("languages", scripts::languages),
    script("deep paths", scripts::deep_paths),
    script("deep trees", scripts::deep_trees),
    script("links", scripts::links),
    script("printed names", scripts::printed_names),
    script("moved trees", scripts::moved_trees),
    script("repositories", scripts::repositories),
    script("hostile repositories", scripts::hostile_repositories),
    script("edits", scripts::edits),
    script("slow files", scripts::slow_files),
    script("long words", scripts::long_words),
    script("words by chance", scripts::words_by_chance),
    call("large input", inputs::large),
    call("patches", inputs::patch),
    call("search patterns", inputs::search),
    call("paths of tools", inputs::paths),
    Kind { name: "stopped pipe", input: Input::Stopped },
];

/// The largest size of a script. What it means depends on the kind.
const MAX_SIZE: usize = 4_000;
/// One in a hundred payloads that come slowly does not end.
const ENDLESS: u64 = 100;

/// Returns the payload of a case.
pub(super) fn payload(case: u64, seed: u64, project: &Path) -> Payload {
    let mut chance = Chance::new(seed.wrapping_mul(1 << 32).wrapping_add(case));
    let kinds = KINDS.len() as u64;
    let kind = usize::try_from(case % kinds).unwrap_or(0);
    let size = 1 + number(&mut chance, MAX_SIZE);
    let of_script = |script: String| ("Bash", json!({ "command": script }).to_string());
    let mut pause = None;
    let (tool, input) = match KINDS.get(kind).map(|kind| kind.input) {
        Some(Input::Script(make)) => of_script(make(size, &mut chance)),
        Some(Input::Call(make)) => make(size, &mut chance),
        Some(Input::Stopped) | None => {
            pause = Some(Duration::from_millis(chance.below(20)));
            of_script("ls ".repeat(size))
        }
    };
    let ends = pause.is_none() || !(case / kinds).is_multiple_of(ENDLESS);
    let before = json!({
        "session_id": "s", "cwd": project, "permission_mode": "default",
        "hook_event_name": "PreToolUse", "tool_name": tool, "tool_use_id": "t",
    });
    // The input is large, and is put in as text.
    let before = before.to_string();
    let before = before.strip_suffix('}').unwrap_or(&before);
    Payload { kind, text: format!("{before},\"tool_input\":{input}}}"), pause, ends }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn each_kind_makes_a_payload_and_the_same_seed_the_same() {
        for case in 0..2 * KINDS.len() as u64 {
            let one = |seed| payload(case, seed, Path::new("/p"));
            assert_eq!(one(case), one(case));
            match serde_json::from_str::<Value>(&one(case).text) {
                Ok(read) => {
                    let input = &read["tool_input"];
                    assert!(input.is_object() || input.is_array(), "{case}");
                }
                Err(error) => assert!(error.to_string().contains("recursion"), "{case}: {error}"),
            }
        }
    }

    #[test]
    fn a_payload_that_does_not_end_is_rare() {
        let stopped = (0..10_000).map(|case| payload(case, 1, Path::new("/p")));
        let stopped: Vec<_> = stopped.filter(|payload| payload.pause.is_some()).collect();
        let endless = stopped.iter().filter(|payload| !payload.ends).count();
        assert!((1..=10).contains(&endless) && stopped.len() > 300, "{endless}");
    }
}
