//! Additional directories in what `rules list` and `rules lint` say.

use openoxide_engine::Engine;
use openoxide_permission::{Directory, lint::Level};
use openoxide_protocol::SCHEMA;
use openoxide_store::{Additional, DirectoryState, Environment};
use openoxide_tui::{Lines, visible};
use serde_json::json;

use super::{files::PolicyText, lint::word};

/// Lists the directories that the files name, and what became of each.
pub(super) fn rows(engine: &Engine, origins: bool, json: bool) -> String {
    let row = |one: &Additional| if json { in_json(one) } else { in_words(one, origins) };
    engine.additional_directories().iter().map(|one| row(one) + "\n").collect()
}

fn in_json(one: &Additional) -> String {
    let Directory { layer, file, line, text, path } = &one.directory;
    json!({
        "schema": SCHEMA,
        "layer": layer.as_str(),
        "file": file,
        "line": line,
        "directory": text,
        "path": one.real.as_ref().unwrap_or(path),
        "state": one.state.as_str(),
    })
    .to_string()
}

fn in_words(one: &Additional, origins: bool) -> String {
    let shown = |text: &str| visible(text, Lines::One);
    let Directory { layer, file, line, text, .. } = &one.directory;
    let state = match one.state {
        DirectoryState::Counts => String::new(),
        other => format!(" ({})", other.as_str()),
    };
    let row = format!("{:<8} {:<6} {}{state}", layer.as_str(), "dir", shown(text));
    if origins { format!("{row}  {}:{line}", shown(file)) } else { row }
}

/// What is wrong with the directories of a file, a line each: those that are not there, and those that lead where none may.
pub(super) fn lints(file: &PolicyText, json: bool) -> Vec<(Level, String)> {
    let environment = Environment::read();
    let look = |one: &Directory| Additional::of(one.clone(), &environment);
    let found = |one: Additional| {
        let (level, why) = wrong(&one)?;
        let lint = (level, one.directory.line, one.directory.text.as_str(), why.as_str());
        Some((level, if json { lint_in_json(file, lint) } else { lint_in_words(file, lint) }))
    };
    file.read.directories.iter().chain(&file.read.writable).map(look).filter_map(found).collect()
}

fn wrong(one: &Additional) -> Option<(Level, String)> {
    let text = &one.directory.text;
    match (one.state, &one.real) {
        (DirectoryState::Missing, _) => {
            Some((Level::Warning, format!("`{text}` adds nothing: no directory is there")))
        }
        (DirectoryState::Refused(why), Some(real)) => {
            Some((Level::Error, format!("`{text}` ignored: it resolves to {real}; {why}")))
        }
        _ => None,
    }
}

/// How bad it is, the line, the directory, and what is wrong with it.
type Found<'a> = (Level, u32, &'a str, &'a str);

fn lint_in_words(file: &PolicyText, (level, line, text, why): Found<'_>) -> String {
    let (shown, why) = (visible(&file.shown, Lines::One), visible(why, Lines::One));
    let column = file.column_of(line, text);
    let help = "name a directory that is there, or remove it";
    format!("{shown}:{line}:{column}: {}[OX408]: {why}\n  help: {help}", word(level))
}

fn lint_in_json(file: &PolicyText, (level, line, text, why): Found<'_>) -> String {
    json!({
        "schema": SCHEMA,
        "code": "OX408",
        "level": word(level),
        "file": file.shown,
        "line": line,
        "column": file.column_of(line, text),
        "directory": text,
        "message": why,
        "help": "name a directory that is there, or remove it",
    })
    .to_string()
}
