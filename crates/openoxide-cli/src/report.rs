//! Messages for people, on standard error.

use std::{
    fmt::Display,
    io::{ErrorKind, Write as _},
};

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use openoxide_engine::Warning;
use openoxide_protocol::Finding;
use openoxide_store::{Broken, Problem, audit::AuditError};
use openoxide_tui::{Lines, visible};

use crate::{args::When, color, exit::Exit};

/// Says something to the person. That nobody listens any more is no reason to stop.
pub(crate) fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}

/// Says that something failed.
pub(crate) fn failure(what: &impl Display) {
    say(&format!("openoxide: error: {}", visible(&what.to_string(), Lines::Many)));
}

/// Says something that a person should know.
pub(crate) fn note(what: &impl Display) {
    say(&format!("openoxide: note: {}", visible(&what.to_string(), Lines::Many)));
}

/// Shows a warning of the engine.
pub(crate) fn warning(warning: &Warning) {
    match warning {
        Warning::GrantNotCounted(_) => failure(warning),
        Warning::NotRecorded(_) | Warning::NotAllSeen | Warning::NotRetried(_) => note(warning),
    }
}

/// Returns the number of an audit record; says so where it could not be written.
pub(crate) fn recorded(written: Result<u64, AuditError>) -> Option<u64> {
    written.map_err(|error| warning(&Warning::NotRecorded(error))).ok()
}

/// Writes what was asked for to standard output, and returns how the program ends. Who closes the pipe has seen enough.
pub(crate) fn data(bytes: &[u8], exit: Exit) -> Exit {
    let mut output = std::io::stdout().lock();
    match output.write_all(bytes).and_then(|()| output.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            failure(&format!("the answer cannot be written: {error}"));
            Exit::Failure
        }
        _ => exit,
    }
}

fn renderer(when: When) -> Renderer {
    if color::wanted(when, &std::io::stderr()) { Renderer::styled() } else { Renderer::plain() }
}

/// Shows everything that is wrong with a policy file, each with its line.
pub(crate) fn broken(file: &Broken, when: When) {
    let path = file.path.to_string_lossy();
    for problem in &file.problems {
        say(&format!("{}\n", renderer(when).render(&groups(problem, &file.text, &path))));
    }
    if file.text.is_empty() {
        return say(&format!("openoxide: {path} cannot be used; nothing is allowed"));
    }
    let count = file.problems.len();
    let what = if count == 1 { "error" } else { "errors" };
    say(&format!(
        "openoxide: {path} has {count} {what}; its allow rules are ignored, its deny and ask rules stay in force"
    ));
}

fn groups<'a>(problem: &'a Problem, text: &'a str, path: &'a str) -> Vec<Group<'a>> {
    let title = Level::ERROR.primary_title(problem.message.as_str());
    let span = problem.span.clone();
    let mut groups = vec![if text.is_empty() {
        let title = Level::ERROR.primary_title(format!("{path}: {}", problem.message));
        Group::with_title(title)
    } else {
        let annotation = AnnotationKind::Primary.span(span);
        title.element(Snippet::source(text).path(path).annotation(annotation))
    }];
    groups.extend(
        problem
            .help
            .as_ref()
            .map(|help| Group::with_title(Level::HELP.secondary_title(help.as_str()))),
    );
    groups
}

/// Returns the findings under the command, each with carets. What could drive a terminal is shown escaped; then the carets
/// would no longer fit, and only the messages are shown.
pub(crate) fn findings(script: &str, findings: &[Finding], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let plain = visible(script, Lines::Many) == script;
    let mut text = String::new();
    for finding in findings {
        let title =
            Level::WARNING.primary_title(finding.message.as_ref()).id(finding.code.as_ref());
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
