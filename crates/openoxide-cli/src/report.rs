//! Messages for people, on standard error.

use std::fmt::Display;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use openoxide_protocol::Finding;
use openoxide_store::{Broken, Problem};
use openoxide_tui::{Lines, visible};

use crate::{args::When, color};

/// Says that something failed.
pub(crate) fn failure(what: &impl Display) {
    eprintln!("openoxide: error: {}", visible(&what.to_string(), Lines::Many));
}

/// Says something that a person should know.
pub(crate) fn note(what: &impl Display) {
    eprintln!("openoxide: note: {}", visible(&what.to_string(), Lines::Many));
}

fn renderer(when: When) -> Renderer {
    if color::wanted(when, &std::io::stderr()) { Renderer::styled() } else { Renderer::plain() }
}

/// Shows everything that is wrong with a policy file, each with its line.
pub(crate) fn broken(file: &Broken, when: When) {
    let path = file.path.to_string_lossy();
    for problem in &file.problems {
        eprintln!("{}\n", renderer(when).render(&groups(problem, &file.text, &path)));
    }
    let count = file.problems.len();
    let what = if count == 1 { "error" } else { "errors" };
    eprintln!(
        "openoxide: {path} has {count} {what}: it allows nothing; what it denies and asks stays"
    );
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
