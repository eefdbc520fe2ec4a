//! Additional directories in the output of `rules list` and `rules lint`.

use openoxide_engine::Engine;
use openoxide_permission::{AdditionalDirectory, lint::LintLevel};
use openoxide_protocol::SCHEMA;
use openoxide_store::{DirectoryState, ResolvedDirectory, UserEnvironment};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use super::policy_texts::PolicyText;

/// Lists the additional directories of the policy files with their states.
pub(super) fn render_directories(engine: &Engine, origins: bool, json: bool) -> String {
    let row =
        |one: &ResolvedDirectory| if json { render_json(one) } else { render_text(one, origins) };
    engine.additional_directories().iter().map(|one| row(one) + "\n").collect()
}

fn render_json(one: &ResolvedDirectory) -> String {
    let AdditionalDirectory { layer, file, line, text, path } = &one.directory;
    json!({
        "schema": SCHEMA,
        "layer": layer.as_str(),
        "file": file,
        "line": line,
        "directory": text,
        "path": one.resolved_path.as_ref().unwrap_or(path),
        "state": one.state.as_str(),
    })
    .to_string()
}

fn render_text(one: &ResolvedDirectory, origins: bool) -> String {
    let shown = |text: &str| escape_text(text, LineMode::SingleLine);
    let AdditionalDirectory { layer, file, line, text, .. } = &one.directory;
    let state = match one.state {
        DirectoryState::Active => String::new(),
        other => format!(" ({})", other.as_str()),
    };
    let row = format!("{:<8} {:<6} {}{state}", layer.as_str(), "dir", shown(text));
    if origins { format!("{row}  {}:{line}", shown(file)) } else { row }
}

/// Returns the problems of a file's directories, one line each: missing directories, and those that
/// resolve to a forbidden location.
pub(super) fn lint_directories(file: &PolicyText, json: bool) -> Vec<(LintLevel, String)> {
    let environment = UserEnvironment::from_process();
    let look = |one: &AdditionalDirectory| ResolvedDirectory::resolve(one.clone(), &environment);
    let found = |one: ResolvedDirectory| {
        let (level, why) = directory_problem(&one)?;
        let lint = (level, one.directory.line, one.directory.text.as_str(), why.as_str());
        Some((
            level,
            if json { render_lint_json(file, lint) } else { render_lint_text(file, lint) },
        ))
    };
    file.policy_file
        .directories
        .iter()
        .chain(&file.policy_file.writable)
        .map(look)
        .filter_map(found)
        .collect()
}

fn directory_problem(one: &ResolvedDirectory) -> Option<(LintLevel, String)> {
    let text = &one.directory.text;
    match (one.state, &one.resolved_path) {
        (DirectoryState::Missing, _) => {
            Some((LintLevel::Warning, format!("`{text}` has no effect: no such directory")))
        }
        (DirectoryState::Refused(why), Some(real)) => {
            Some((LintLevel::Error, format!("`{text}` ignored: it resolves to {real}; {why}")))
        }
        _ => None,
    }
}

/// The level, the line, the directory and the message of a problem.
type DirectoryLint<'a> = (LintLevel, u32, &'a str, &'a str);

fn render_lint_text(file: &PolicyText, (level, line, text, why): DirectoryLint<'_>) -> String {
    let (shown, why) = (
        escape_text(&file.display_path, LineMode::SingleLine),
        escape_text(why, LineMode::SingleLine),
    );
    let column = file.text_column(line, text);
    let help = "name an existing directory, or remove the entry";
    format!("{shown}:{line}:{column}: {}[OX408]: {why}\n  help: {help}", level.as_str())
}

fn render_lint_json(file: &PolicyText, (level, line, text, why): DirectoryLint<'_>) -> String {
    json!({
        "schema": SCHEMA,
        "code": "OX408",
        "level": level.as_str(),
        "file": file.display_path,
        "line": line,
        "column": file.text_column(line, text),
        "directory": text,
        "message": why,
        "help": "name an existing directory, or remove the entry",
    })
    .to_string()
}
