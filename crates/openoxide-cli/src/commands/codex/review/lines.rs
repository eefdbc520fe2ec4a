//! What was answered, by whom and why, as lines for the person.

use openoxide_adapters::codex::{
    review::{Answer, Wanted},
    wire::Request,
};
use openoxide_protocol::{ApprovalRequest, Decision, PresentationKind};
use openoxide_tui::{Lines, visible};

use super::Dealt;
use crate::{commands::check, report};

/// A line names what it is about in so many characters.
const NAMED: usize = 100;

/// An answer with its grounds.
pub(super) struct Said {
    pub(super) answer: Answer,
    pub(super) decision: Decision,
    /// What a person was asked, if one was.
    pub(super) asked: Option<ApprovalRequest>,
    /// Whether it lets something happen.
    pub(super) yes: bool,
    pub(super) line: String,
}

impl Said {
    pub(super) fn denied(request: &Request, decision: Decision, name: &str) -> Self {
        let line = format!("declined by the policy: {name}: {}", grounds(&decision));
        Self { answer: Answer::no(&request.asked), decision, asked: None, yes: false, line }
    }
}

/// Returns the reason with the rule behind it.
pub(super) fn grounds(decision: &Decision) -> String {
    let place = decision.rule.as_ref().map(check::place).unwrap_or_default();
    format!("{}{place}", decision.reason)
}

/// Returns what a line calls a request.
pub(super) fn named(wanted: &Wanted) -> String {
    let shown = &wanted.presentation;
    let text = match shown.kind {
        PresentationKind::Command => &shown.content,
        _ => &wanted.title,
    };
    let mut name: String = text.chars().take(NAMED).collect();
    if name.len() < text.len() {
        name.push('…');
    }
    format!("`{name}`")
}

pub(super) fn left(name: &str, why: &str) -> Dealt {
    say(&format!("left to the other client: {name}: {why}"));
    Dealt::Left
}

pub(super) fn elsewhere(name: &str) -> Dealt {
    say(&format!("answered elsewhere: {name}"));
    Dealt::Elsewhere
}

/// Says a line, whatever it holds.
pub(super) fn say(line: &str) {
    report::say(&format!("openoxide: {}", visible(line, Lines::One)));
}
