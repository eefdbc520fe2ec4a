//! `codex amend`: adds a permanent rule to Codex's own file.

use std::{env, path::PathBuf};

use openoxide_codex::exact_semantics::{DEFAULT_RULES, is_banned_prefix, render_prefix_rule};
use openoxide_store::append_line_once;

use crate::{
    args::CodexAmendArgs, error::codex_error::CodexAmendError, program_exit::ProgramExit,
    user_messages,
};

/// Adds the rule. Codex reads it when a session starts.
///
/// # Errors
///
/// If the words would allow everything, or the file cannot be written.
pub(super) fn add_prefix_rule(args: &CodexAmendArgs) -> Result<ProgramExit, CodexAmendError> {
    if is_banned_prefix(&args.prefix) {
        return Err(CodexAmendError::AllowsAnything(args.prefix.join(" ")));
    }
    let line = render_prefix_rule(&args.prefix)?;
    let file = codex_home(args)?.join(DEFAULT_RULES);
    let added = append_line_once(&file, &line)
        .map_err(|error| CodexAmendError::NotWritten { path: file.clone(), error })?;
    let what = if added { "added to" } else { "is already in" };
    user_messages::print_note(&format!("`{line}` {what} {}", file.display()));
    Ok(ProgramExit::Success)
}

fn codex_home(args: &CodexAmendArgs) -> Result<PathBuf, CodexAmendError> {
    let named = args.home.clone().or_else(|| env::var_os("CODEX_HOME").map(PathBuf::from));
    let usual = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".codex"));
    named.or_else(usual).ok_or(CodexAmendError::NoHome)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde::Deserialize;

    use super::*;

    const RECORDED: &str = include_str!("../../../../../corpus/codex/amendments.ndjson");

    #[derive(Deserialize)]
    struct Case {
        start: Option<String>,
        lists: Vec<Vec<String>>,
        result: String,
    }

    // Each row was recorded from Codex 0.169 and its own file (`cargo xtask codex-session
    // --amendments`).
    #[test]
    fn rules_are_added_byte_for_byte_as_codex_adds_them() {
        let cases: Vec<Case> =
            RECORDED.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        assert!(cases.len() >= 100, "{}", cases.len());
        for case in cases {
            let home = tempfile::tempdir().unwrap();
            let file = home.path().join(DEFAULT_RULES);
            if let Some(start) = &case.start {
                fs::create_dir(file.parent().unwrap()).unwrap();
                fs::write(&file, start).unwrap();
            }
            // Codex reports an invalid rule to the person, and does not write it.
            for line in case.lists.iter().filter_map(|list| render_prefix_rule(list).ok()) {
                append_line_once(&file, &line).unwrap();
            }
            assert_eq!(fs::read_to_string(&file).unwrap(), case.result, "{:?}", case.lists);
        }
    }
}
