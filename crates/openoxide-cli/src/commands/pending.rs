//! `pending`: what waits for an answer.

use std::cell::OnceCell;

use openoxide_engine::History;
use openoxide_protocol::{ApprovalRequest, Choice, Recalled, SCHEMA};
use openoxide_store::{
    Environment, RequestError, Requests as _, SqliteRequests, Waiting, audit::Moment,
};
use openoxide_tui::{Lines, RenderOptions, Style, describe, visible};
use serde_json::{Value, json};

use crate::{args::Global, color, exit::Exit, report};

/// Lists the requests that wait, oldest first.
pub(crate) fn pending(json: bool, global: Global) -> Result<Exit, String> {
    let listed = match list() {
        Ok(listed) => listed,
        Err(error) => {
            report::failure(&error);
            return Ok(Exit::Failure);
        }
    };
    let colored = color::wanted(global.color, &std::io::stdout());
    let mut exit = Exit::Success;
    let mut text = String::new();
    let history = OnceCell::new();
    for each in &listed {
        match each {
            Ok(waiting) if json => {
                let history = history.get_or_init(|| History::read(&Environment::read()));
                text.push_str(&(in_json(waiting, history).to_string() + "\n"));
            }
            Ok(waiting) => text.push_str(&in_words(waiting, colored)),
            Err(error) => {
                report::failure(error);
                exit = Exit::Failure;
            }
        }
    }
    if !json {
        report::say(hint(&listed));
    }
    Ok(report::data(text.as_bytes(), exit))
}

type Listed = Vec<Result<Waiting, RequestError>>;

fn list() -> Result<Listed, RequestError> {
    let Some(mut requests) = SqliteRequests::open_existing(&Environment::read())? else {
        return Ok(Vec::new());
    };
    requests.sweep()?;
    requests.pending()
}

fn hint(listed: &Listed) -> &'static str {
    if listed.is_empty() {
        "openoxide: nothing waits for an answer"
    } else {
        "openoxide: answer with `openoxide approve ID` or `openoxide deny ID`; save the rules of [p] with `--scope project`, other listed rules with `--rule RULE`"
    }
}

/// Returns a request as its line of JSON.
pub(crate) fn in_json(waiting: &Waiting, history: &History) -> Value {
    let Waiting { request, shown, .. } = waiting;
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
        "who": waiting.who,
        "accesses": accesses,
        "reason": request.decision.reason,
        "findings": request.decision.findings,
        "always": request.decision.always,
        "choices": choices(request, history),
        "explicit_yes_required": request.explicit_yes_required,
        "digest": shown,
        "asked_at": waiting.asked_at.to_string(),
        "expires_at": waiting.expires_at.map(|at| at.to_string()),
    })
}

/// Returns what a yes for the project can keep, each with what it would have answered before.
fn choices(request: &ApprovalRequest, history: &History) -> Vec<Value> {
    let both = request.choices().into_iter().zip(history.recalled(request));
    let one = |(Choice { width, rules }, Recalled { answers, of, examples })| json!({ "width": width, "rules": rules, "answers": answers, "of": of, "examples": examples });
    both.map(one).collect()
}

/// Returns a request as a person reads it: a row with its name, and below it what the prompt shows.
pub(crate) fn in_words(waiting: &Waiting, colored: bool) -> String {
    let Waiting { request, shown, .. } = waiting;
    let id: String = request.id.to_string().chars().take(waiting.prefix).collect();
    let digest: String = shown.to_string().chars().take(16).collect();
    let now = Moment::now();
    let ago = ago(now.0.saturating_sub(waiting.asked_at.0));
    let left = waiting.expires_at.map_or_else(String::new, |at| {
        format!("  expires in {}", self::ago(at.0.saturating_sub(now.0)))
    });
    let cwd = visible(request.cwd.as_str(), Lines::One);
    let who = visible(&waiting.who, Lines::One);
    let session: String = request.session.to_string().chars().take(13).collect();
    let row = format!("{id}  {who} {session}  asked {ago} ago{left}  in {cwd}  digest {digest}\n");
    let style = if colored { Style::Ansi } else { Style::Plain };
    let body = describe(request, &RenderOptions { style, whole: true, ..RenderOptions::default() });
    format!("{row}\n{body}\n")
}

/// Returns how long something is in its largest unit.
fn ago(millis: u64) -> String {
    match millis / 1_000 {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3_600),
    }
}
