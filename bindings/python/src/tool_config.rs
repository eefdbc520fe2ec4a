//! The configuration of the tools: one format and one parser for Python and for policies.

use std::path::PathBuf;

use openoxide_adapters::{
    llm_do::{parse_config, translate_config},
    policy_translation::PolicyTextError,
};
use openoxide_engine::absolute_directory;
use openoxide_permission::{LayerKind, PathAnchors};
use openoxide_store::UserEnvironment;
use pyo3::prelude::*;

use crate::{error::ErrorClass, json_value::to_python};

/// Parse a configuration. Returns its fields and the notes about parts without effect.
///
/// `file` is the name for messages, and relative roots are relative to `base`.
#[pyfunction]
#[pyo3(name = "parse_config")]
pub(crate) fn parse_tool_config<'py>(
    py: Python<'py>,
    text: &str,
    file: &str,
    base: PathBuf,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    let policy_error = |message: String| ErrorClass::Policy.with_message(py, message);
    let located = |errors: &[PolicyTextError]| {
        let messages: Vec<_> = errors.iter().map(|error| locate(error, text, file)).collect();
        policy_error(messages.join("\n"))
    };
    let config = parse_config(text).map_err(|error| located(&[error]))?;
    let base = absolute_directory(Some(&base)).map_err(|error| policy_error(error.to_string()))?;
    let home = UserEnvironment::from_process().home;
    let anchors = PathAnchors { home: home.as_ref(), base: &base };
    let translation = translate_config(text, LayerKind::Cli, file, anchors);
    let translation = translation.map_err(|errors| located(&errors))?;
    if !translation.errors.is_empty() {
        return Err(located(&translation.errors));
    }
    let omitted = translation.notes.iter().filter_map(|note| locate_omitted_rule(note, text, file));
    let omitted: Vec<_> = omitted.collect();
    if !omitted.is_empty() {
        return Err(policy_error(omitted.join("\n")));
    }
    let notes = translation.notes.into_iter().filter(|note| note.ends_with(NO_SUFFIX));
    Ok((to_python(py, &config)?, notes.collect()))
}

/// The end of the note about a suffix that no file has.
const NO_SUFFIX: &str = "no file has this suffix";

/// Returns the message for a rule that a translation leaves out because it is not understood. A
/// policy may be stricter than the file, but a tool with other rules than the file would confuse.
fn locate_omitted_rule(note: &str, text: &str, file: &str) -> Option<String> {
    let (line, message) = note.strip_prefix(file)?.strip_prefix(':')?.split_once(": ")?;
    let (pattern, _) = message.strip_prefix('`')?.split_once("` cannot be expressed")?;
    let index = line.parse::<usize>().ok()?.checked_sub(1)?;
    let before = text.lines().nth(index).and_then(|line| line.split_once(pattern));
    let start = before.map_or("", |(start, _)| start).trim_end_matches(['\'', '"']);
    let column = start.chars().count() + 1;
    Some(format!("{file}:{line}:{column}: {}", omitted_rule_message(message)))
}

/// Returns the message about a rule that is not understood, without the part that it is left out.
fn omitted_rule_message(message: &str) -> String {
    let message = message.strip_suffix("; it is left out").unwrap_or(message);
    format!("{message}\nhelp: write the first words of the command")
}

/// Returns the message about a rule that a translation leaves out, without its location.
pub(crate) fn omitted_rule(note: &str) -> Option<String> {
    let at = note.find('`').filter(|_| note.contains("` cannot be expressed"))?;
    note.get(at..).map(omitted_rule_message)
}

/// Returns the message of an error, with its file, line and column.
fn locate(error: &PolicyTextError, text: &str, file: &str) -> String {
    let before = text.get(..error.span.start).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |start| start.chars().count()) + 1;
    let message = format!("{file}:{line}:{column}: {}", error.message);
    match &error.help {
        Some(help) => format!("{message}\nhelp: {help}"),
        None => message,
    }
}
