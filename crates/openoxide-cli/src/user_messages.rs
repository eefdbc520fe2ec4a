//! Messages for people, on standard error.

use std::{
    fmt::Display,
    io::{ErrorKind, Write as _},
};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use openoxide_engine::{EngineWarning, GrantSaveError};
use openoxide_protocol::{Finding, escape::escape_json};
use openoxide_store::{BrokenFile, PolicyProblem, audit::AuditError};
use openoxide_tui::{LineMode, escape_text};

use crate::{args::ColorWhen, error::CliError, program_exit::ProgramExit, terminal_color};

/// Prints a line to standard error. Write errors are ignored, so that a closed stream does not stop
/// the program.
pub(crate) fn print_line(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Prints an error.
pub(crate) fn print_error(what: &impl Display) {
    print_line(&format!(
        "openoxide: error: {}",
        escape_text(&what.to_string(), LineMode::MultiLine)
    ));
}

/// Prints the error of a command, and below it what to do next.
pub(crate) fn print_cli_error(error: &CliError) {
    print_error(error);
    if let Some(hint) = error.hint() {
        print_line(&format!("openoxide: help: {}", escape_text(hint, LineMode::MultiLine)));
    }
}

/// Prints a note.
pub(crate) fn print_note(what: &impl Display) {
    print_line(&format!(
        "openoxide: note: {}",
        escape_text(&what.to_string(), LineMode::MultiLine)
    ));
}

/// Prints a warning of the engine.
pub(crate) fn print_warning(warning: &EngineWarning) {
    match warning {
        EngineWarning::GrantNotSaved(GrantSaveError::NotOffered) => {
            print_note(&"only offered rules can be saved; approved once");
        }
        EngineWarning::GrantNotSaved(GrantSaveError::NoGrantFile) => {
            print_note(&"grants are not saved with `--policy`; approved once");
        }
        EngineWarning::GrantNotCounted(_) | EngineWarning::GrantNotSaved(_) => print_error(warning),
        EngineWarning::NotRecorded(_)
        | EngineWarning::NotQueued(_)
        | EngineWarning::AlreadyAnswered(_)
        | EngineWarning::AnswerNotShared(_)
        | EngineWarning::ScanTruncated
        | EngineWarning::NotRetried(_) => print_note(warning),
    }
}

/// Returns the number of an audit record. Prints a warning if the record could not be written.
pub(crate) fn warn_if_unrecorded(written: Result<u64, AuditError>) -> Option<u64> {
    written.map_err(|error| print_warning(&EngineWarning::NotRecorded(error))).ok()
}

/// Prints text for a person or JSON to standard output, and returns the exit status. JSON is escaped
/// by [`escape_json`], which changes no text that was escaped for a terminal.
pub(crate) fn print_data(text: &str, exit: ProgramExit) -> ProgramExit {
    print_document(escape_json(text).as_bytes(), exit)
}

/// Prints the content of a file to standard output, unchanged, and returns the exit status. A closed
/// pipe is not an error: the reader needs no more output.
pub(crate) fn print_document(bytes: &[u8], exit: ProgramExit) -> ProgramExit {
    let mut output = std::io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            print_error(&format!("cannot write the answer: {error}"));
            ProgramExit::Failure
        }
        _ => exit,
    }
}

fn diagnostic_renderer(when: ColorWhen) -> Renderer {
    if terminal_color::use_color(when, &std::io::stderr()) {
        Renderer::styled()
    } else {
        Renderer::plain()
    }
}

/// Prints the problems of a policy file with their lines. An agent may have written the file.
pub(crate) fn print_broken_file(file: &BrokenFile, when: ColorWhen) {
    let path = escape_text(&file.path.to_string_lossy(), LineMode::SingleLine);
    for problem in &file.problems {
        print_line(&format!("{}\n", render_problem(problem, &file.text, &path, when)));
    }
    if file.text.is_empty() {
        return print_line(&format!("openoxide: {path} cannot be used; nothing is allowed"));
    }
    let count = file.problems.len();
    let what = if count == 1 { "error" } else { "errors" };
    print_line(&format!(
        "openoxide: {path} has {count} {what}; its allow rules are ignored, its deny and ask rules stay in force"
    ));
}

fn render_problem(problem: &PolicyProblem, text: &str, path: &str, when: ColorWhen) -> String {
    let visible = |text: &str| escape_text(&text.replace("\r\n", "\n"), LineMode::MultiLine);
    let message = visible(&problem.message);
    let help = problem.help.as_deref().map(visible);
    let position = |at: usize| text.get(..at).map_or(0, |before| visible(before).len());
    let span = position(problem.span.start)..position(problem.span.end);
    let title = if text.is_empty() { format!("{path}: {message}") } else { message };
    let title = Level::ERROR.primary_title(title);
    let mut groups = vec![if text.is_empty() {
        Group::with_title(title)
    } else {
        let annotation = AnnotationKind::Primary.span(span);
        title.element(Snippet::source(visible(text)).path(path).annotation(annotation))
    }];
    groups.extend(help.map(|help| Group::with_title(Level::HELP.secondary_title(help))));
    diagnostic_renderer(when).render(&groups)
}

/// Returns the findings with the command, and carets under the words of each. If the command has
/// control characters, which are escaped, the carets would not fit, so only the messages are
/// returned.
pub(crate) fn render_findings(script: &str, findings: &[Finding], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let plain = escape_text(script, LineMode::MultiLine) == script;
    let mut text = String::new();
    for finding in findings {
        let message = escape_text(&finding.message, LineMode::MultiLine);
        let title = Level::WARNING.primary_title(message).id(finding.code.as_ref());
        let span = finding.span.start as usize..finding.span.end as usize;
        let fits = plain && script.get(span.clone()).is_some_and(|part| !part.is_empty());
        let group = if fits {
            title.element(Snippet::source(script).annotation(AnnotationKind::Primary.span(span)))
        } else {
            Group::with_title(title)
        };
        text.push_str(&renderer.render(&[group]));
        text.push('\n');
    }
    text
}

/// Returns a number of occurrences in words: `once`, `2 times`.
pub(crate) fn format_times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
