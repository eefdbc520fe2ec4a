//! `pending`: the requests that wait for an answer.

use std::cell::OnceCell;

use openoxide_engine::{ApprovalHistory, RequestQueue};
use openoxide_protocol::{ApprovalRequest, ChoiceHistory, RuleChoice, SCHEMA};
use openoxide_store::{PendingRequest, RequestStoreError, UserEnvironment, audit::UtcTimestamp};
use openoxide_tui::{LineMode, RenderOptions, TextStyle, escape_text, render_request};
use serde_json::{Value, json};

use crate::{args::GlobalArgs, program_exit::ProgramExit, terminal_color, user_messages};

/// Lists the pending requests, oldest first.
pub(crate) fn list_pending(json: bool, global: GlobalArgs) -> ProgramExit {
    let requests = RequestQueue::open(UserEnvironment::from_process());
    let listed = match requests.and_then(|mut requests| requests.list()) {
        Ok(listed) => listed,
        Err(error) => {
            user_messages::print_error(&error);
            return ProgramExit::Failure;
        }
    };
    let colored = terminal_color::use_color(global.color, &std::io::stdout());
    let mut exit = ProgramExit::Success;
    let mut text = String::new();
    let history = OnceCell::new();
    for each in &listed {
        match each {
            Ok(waiting) if json => {
                let history =
                    history.get_or_init(|| ApprovalHistory::read(&UserEnvironment::from_process()));
                text.push_str(&(render_json(waiting, history).to_string() + "\n"));
            }
            Ok(waiting) => text.push_str(&render_text(waiting, colored)),
            Err(error) => {
                user_messages::print_error(error);
                exit = ProgramExit::Failure;
            }
        }
    }
    if !json {
        user_messages::print_line(answer_hint(&listed));
    }
    user_messages::print_data(&text, exit)
}

fn answer_hint(listed: &[Result<PendingRequest, RequestStoreError>]) -> &'static str {
    if listed.is_empty() {
        "openoxide: no pending requests"
    } else {
        "openoxide: answer with `openoxide approve ID` or `openoxide deny ID`; save the rules of [p] with `--scope project`, other listed rules with `--rule RULE`"
    }
}

/// Returns a request as its line of JSON.
pub(crate) fn render_json(waiting: &PendingRequest, history: &ApprovalHistory) -> Value {
    let PendingRequest { request, shown_digest: shown, .. } = waiting;
    let accesses: Vec<_> = request.decision.parts.iter().map(|part| &part.access).collect();
    json!({
        "schema": SCHEMA,
        "id": request.id,
        "session": request.session,
        "title": request.title,
        "tool": request.tool,
        "content": request.presentation.content,
        "cwd": request.cwd,
        "project": waiting.project,
        "who": waiting.requester,
        "accesses": accesses,
        "reason": request.decision.reason,
        "findings": request.decision.findings,
        "always": request.decision.suggested_rules,
        "choices": choices_to_json(request, history),
        "directory": request.directory,
        "explicit": request.requires_explicit_approval,
        "digest": shown,
        "asked_at": waiting.asked_at.to_string(),
        "expires_at": waiting.expires_at.map(|at| at.to_string()),
    })
}

/// Returns the rule choices that a project grant can save, each with the earlier questions that it
/// would have answered.
fn choices_to_json(request: &ApprovalRequest, history: &ApprovalHistory) -> Vec<Value> {
    let both = request.choices().into_iter().zip(history.choice_histories(request));
    let one = |(choice, history): (RuleChoice, ChoiceHistory)| {
        json!({
            "breadth": choice.breadth,
            "rules": choice.rules,
            "would_have_answered": history.would_have_answered,
            "total": history.total,
            "examples": history.examples,
        })
    };
    both.map(one).collect()
}

/// Returns a request as text: a row with its id, and below it the same text as in the prompt.
pub(crate) fn render_text(waiting: &PendingRequest, colored: bool) -> String {
    let PendingRequest { request, shown_digest: shown, .. } = waiting;
    let id: String = request.id.to_string().chars().take(waiting.unique_prefix_len).collect();
    let digest: String = shown.to_string().chars().take(16).collect();
    let now = UtcTimestamp::now();
    let ago = format_age(now.0.saturating_sub(waiting.asked_at.0));
    let left = waiting.expires_at.map_or_else(String::new, |at| {
        format!("  expires in {}", format_age(at.0.saturating_sub(now.0)))
    });
    let cwd = escape_text(request.cwd.as_str(), LineMode::SingleLine);
    let who = escape_text(&waiting.requester, LineMode::SingleLine);
    let session: String = request.session.to_string().chars().take(13).collect();
    let row = format!("{id}  {who} {session}  asked {ago} ago{left}  in {cwd}  digest {digest}\n");
    let style = if colored { TextStyle::Ansi } else { TextStyle::Plain };
    let body = render_request(
        request,
        &RenderOptions { style, show_all: true, ..RenderOptions::default() },
    );
    format!("{row}\n{body}\n")
}

/// Returns a duration in its largest unit.
fn format_age(millis: u64) -> String {
    match millis / 1_000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}
