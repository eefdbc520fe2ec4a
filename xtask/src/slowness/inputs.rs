//! Inputs of tools that are made to take long, as JSON.

use serde_json::json;

use super::scripts::{number, pick};
use crate::crash::chance::Chance;

/// Returns an input with very much in it.
pub(super) fn large(size: usize, chance: &mut Chance) -> (&'static str, String) {
    let many = |item: &str, count: usize| item.repeat(count);
    let input = match number(chance, 6) {
        0 => format!(r#"{{"text":"{}"}}"#, many("x", size * 2_000)),
        1 => format!(r#"{{"text":"{}"}}"#, many("\\u202e", size * 300)),
        2 => format!(r#"{{"list":[{}1]}}"#, many("1,", size * 200)),
        // serde_json reads up to 128 levels.
        3 => format!("{}{}", many("[", size.min(120)), many("]", size.min(120))),
        4 => format!("{}null{}", many(r#"{"a":"#, size), many("}", size)),
        _ => {
            let keys: String = (0..size * 10).map(|key| format!("\"{key}\":null,")).collect();
            format!("{{{keys}\"end\":null}}")
        }
    };
    // A payload that is too deep is not JSON for the hook, and has to be answered all the same.
    ("mcp__server__tool", input)
}

/// Returns a patch with many files and lines, as an input of Codex and in a script.
pub(super) fn patch(size: usize, chance: &mut Chance) -> (&'static str, String) {
    let header = pick(
        chance,
        &["*** Update File: src/N\n@@\n", "*** Add File: N\n", "*** Delete File: deep/N\n"],
    );
    let files: String =
        (0..size).map(|at| header.replace('N', &at.to_string()) + "+x\n-y\n").collect();
    let patch = format!("*** Begin Patch\n{files}*** End Patch");
    match number(chance, 2) {
        0 => ("apply_patch", json!({ "command": patch }).to_string()),
        _ => {
            let script = format!("git apply <<'E'\n{}E\n", files.replace("***", "+++"));
            ("Bash", json!({ "command": script }).to_string())
        }
    }
}

/// Returns a search by patterns.
pub(super) fn search(size: usize, chance: &mut Chance) -> (&'static str, String) {
    let piece = pick(chance, &["{a,b}", "*", "[a-z]", "**/", "{.env,", "?"]);
    let pattern = piece.repeat(size / 4);
    let path = pick(chance, &["many", "deep", "wide", "slow/d1", "."]);
    let tool = pick(chance, &["Grep", "Glob"]);
    (tool, json!({ "pattern": pattern, "glob": pattern, "path": path }).to_string())
}

/// Returns a file tool with a path that is hard to follow.
pub(super) fn paths(size: usize, chance: &mut Chance) -> (&'static str, String) {
    let piece = pick(chance, &["d/", "../", "./", "//", "links/1/../"]);
    let path = format!("{}{}x", pick(chance, &["deep/", "links/1/", ""]), piece.repeat(size));
    let tool = pick(chance, &["Read", "Edit", "Write", "MultiEdit"]);
    (tool, json!({ "file_path": path, "content": "x", "edits": [] }).to_string())
}
