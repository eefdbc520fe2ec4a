//! Lines for the person about each answer: the request, the reviewer and the reason.

use openoxide_codex::{
    app_server::ServerRequest,
    app_server_client::{ClientEvent, RequestDisposition},
    approval_review::{CodexAnswer, ReviewRequest},
};
use openoxide_protocol::{ApprovalRequest, Decision, PresentationKind};
use openoxide_tui::{LineMode, escape_text};

use crate::{commands::check, user_messages};

/// The maximum number of characters in the name of a request.
const MAX_NAME_CHARS: usize = 100;

/// An answer with its reason.
pub(super) struct DecidedAnswer {
    pub(super) answer: CodexAnswer,
    pub(super) decision: Decision,
    /// The request that a person answered, if there was one.
    pub(super) approval_request: Option<ApprovalRequest>,
    /// True if the answer approves the request.
    pub(super) is_approval: bool,
    pub(super) line: String,
}

impl DecidedAnswer {
    pub(super) fn from_denial(request: &ServerRequest, decision: Decision, name: &str) -> Self {
        let line = format!("declined by the policy: {name}: {}", format_reason(&decision));
        Self {
            answer: CodexAnswer::new_decline(&request.params),
            decision,
            approval_request: None,
            is_approval: false,
            line,
        }
    }
}

/// Returns the reason with the rule that decided.
pub(super) fn format_reason(decision: &Decision) -> String {
    let place = decision.rule.as_ref().map(check::format_rule_location).unwrap_or_default();
    format!("{}{place}", decision.reason)
}

/// Returns the name of a request in a line.
pub(super) fn display_name(wanted: &ReviewRequest) -> String {
    let shown = &wanted.presentation;
    let text = match shown.kind {
        PresentationKind::Command => &shown.content,
        _ => &wanted.title,
    };
    let mut name: String = text.chars().take(MAX_NAME_CHARS).collect();
    if name.len() < text.len() {
        name.push('…');
    }
    format!("`{name}`")
}

/// Prints an event of the client.
pub(super) fn report_event(event: &ClientEvent) {
    match event {
        ClientEvent::ThreadAttached { thread, cwd } => {
            print_line(&format!("attached to {thread}, which works in {cwd}"));
        }
        ClientEvent::ThreadNotStarted { thread, reason } => {
            print_line(&format!("{thread} will be attached to once it has started ({reason})"));
        }
        ClientEvent::UnsupportedRequest(method) => {
            print_line(&format!("left to the other client: `{method}` is not supported here"));
        }
        ClientEvent::QueueFull => print_line("left to the other client: too many pending requests"),
        ClientEvent::AnsweredElsewhere(name) => {
            report_answered_elsewhere(name);
        }
    }
}

pub(super) fn report_left_to_others(name: &str, why: &str) -> RequestDisposition {
    print_line(&format!("left to the other client: {name}: {why}"));
    RequestDisposition::LeftToOthers
}

pub(super) fn report_answered_elsewhere(name: &str) -> RequestDisposition {
    print_line(&format!("answered elsewhere: {name}"));
    RequestDisposition::AnsweredElsewhere
}

/// Prints a line, with control characters escaped.
pub(super) fn print_line(line: &str) {
    user_messages::print_line(&format!("openoxide: {}", escape_text(line, LineMode::SingleLine)));
}
