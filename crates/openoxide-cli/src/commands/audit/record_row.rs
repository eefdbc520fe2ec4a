//! The rows of an audit record as text.

use std::io;

use openoxide_protocol::{
    Effect, GrantScope, HookAnswer, HookDecision, ReviewDecision, RuleBreadth, RuleRef,
};
use openoxide_store::audit::{
    AnswerRecord, AuditEvent, AuditRecord, DecisionRecord, OutcomeRecord,
};
use openoxide_tui::{LineMode, escape_text};

use crate::{commands::check, terminal_color::paint_text, user_messages::format_times};

/// The maximum number of characters of a title that are shown.
const MAX_TITLE_CHARS: usize = 100;
/// The width of the answer column, for example `ask, approved`.
const ANSWER_WIDTH: usize = 14;

/// Returns a record as lines of a table. `later_answer` is an answer that is in another record of
/// the call.
pub(super) fn render_row(
    record: &AuditRecord,
    later_answer: Option<&AnswerRecord>,
    colored: bool,
) -> String {
    let time = record.time.to_string().replace('T', " ");
    let time = time.get(..19).unwrap_or_default();
    let start = format!("{:>6}  {time}  ", record.seq);
    let (answer, code, rest) = row_cells(&record.entry, later_answer);
    let answer = paint_text(colored, code, &format!("{answer:<ANSWER_WIDTH$}"));
    let (what, grounds) = (rest.0.trim_end(), paint_text(colored, "2", &rest.1));
    let hooks: String = hook_decision_lines(&record.entry)
        .chain(saved_grant_line(&record.entry))
        .chain(answer_line(&record.entry))
        .map(|hook| format!("{:29}{}\n", "", paint_text(colored, "2", &hook)))
        .collect();
    match rest.1.is_empty() {
        true => format!("{start}{answer}  {what}\n{hooks}"),
        false => format!("{start}{answer}  {what}\n{:29}{grounds}\n{hooks}", ""),
    }
}

/// Returns the line with the exit of the program, below the row of its decision.
pub(super) fn render_outcome_line(outcome: &OutcomeRecord, colored: bool) -> String {
    let ended = format!("ended: {}", render_outcome(outcome));
    let lines = outcome.answer.as_deref().map(describe_agent_answer).into_iter().chain([ended]);
    lines.map(|line| format!("{:29}{}\n", "", paint_text(colored, "2", &line))).collect()
}

/// Returns the person's answer in the dialog of the agent.
fn describe_agent_answer(answer: &AnswerRecord) -> String {
    let waited = answer.waited_ms.map(|waited| format!(", after {}", format_seconds(waited)));
    format!("answered in the agent's dialog{}", waited.unwrap_or_default())
}

fn format_seconds(millis: u64) -> String {
    format!("{}.{:03} s", millis / 1_000, millis % 1_000)
}

/// Returns a line for each hook that made a decision.
fn hook_decision_lines(entry: &AuditEvent) -> impl Iterator<Item = String> {
    let decided = if let AuditEvent::Decision(decided) = entry { Some(decided) } else { None };
    let answers = decided.into_iter().flat_map(|decided| &decided.hooks);
    answers.filter(|answer| answer.decision != HookDecision::Pass).map(
        |HookAnswer { hook, decision, reason, .. }| {
            let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            escape_text(&format!("{}: {}{why}", hook.text, decision.as_str()), LineMode::SingleLine)
        },
    )
}

/// Returns who answered a question that waited in the request queue, and after which time.
fn answer_line(entry: &AuditEvent) -> Option<String> {
    let AuditEvent::Decision(decided) = entry else { return None };
    let answer = decided.answer.as_ref()?;
    let (by, waited) = (answer.answered_by.as_deref()?, answer.waited_ms?);
    let by = escape_text(by, LineMode::SingleLine);
    Some(format!("answered by {by}, after {}", format_seconds(waited)))
}

/// Returns the duration and the limits of an approval that applies more than once.
fn saved_grant_line(entry: &AuditEvent) -> Option<String> {
    let AuditEvent::Decision(decided) = entry else { return None };
    let answer = decided.answer.as_ref()?;
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let Some(grant) = &answer.grant else {
        return match answer.scope? {
            GrantScope::Session => Some("saved for the session: this exact action".to_owned()),
            GrantScope::Directory => {
                Some("saved for the session: changes in the directory".to_owned())
            }
            GrantScope::Once | GrantScope::Project => None,
        };
    };
    let breadth = match grant.breadth {
        Some(RuleBreadth::Narrower) => " (narrower)",
        Some(RuleBreadth::Suggested) => " (as offered)",
        Some(RuleBreadth::Wider) => " (wider)",
        None => "",
    };
    let bounds = [
        grant.expires_in_seconds.map(|seconds| format!(", for {seconds} s")),
        grant.max_uses.map(|times| format!(", {}", format_uses(times))),
        grant.directory.as_deref().map(|path| format!(", below {}", line(path))),
        grant.task.as_deref().map(|task| format!(", in the task {}", line(task))),
    ];
    let bounds: String = bounds.into_iter().flatten().collect();
    Some(format!("saved for the project: {}{breadth}{bounds}", line(&grant.rules.join(", "))))
}

fn format_uses(times: u32) -> String {
    format_times(u64::from(times))
}

/// Returns the answer, its color, the title of the call, and the reason.
fn row_cells(
    entry: &AuditEvent,
    later_answer: Option<&AnswerRecord>,
) -> (String, &'static str, (String, String)) {
    match entry {
        AuditEvent::Decision(decided) => (
            answer_cell(decided, later_answer),
            effect_color(decided.decision),
            call_cells(decided),
        ),
        AuditEvent::Outcome(ended) => (
            "ended".to_owned(),
            "2",
            (format!("record {}: {}", ended.decision_seq, render_outcome(ended)), String::new()),
        ),
        AuditEvent::Prune(removed) => {
            let text = format!("records up to {}, because of their age or size", removed.last_seq);
            ("removed".to_owned(), "2", (text, String::new()))
        }
        AuditEvent::Repair(repaired) => {
            let text = format!(
                "removed {} bytes of an incomplete record, whose writer was killed",
                repaired.removed_bytes
            );
            ("repaired".to_owned(), "2", (text, String::new()))
        }
    }
}

const fn effect_color(effect: Option<Effect>) -> &'static str {
    match effect {
        Some(Effect::Allow) => "32",
        Some(Effect::Ask) => "33",
        Some(Effect::Deny) | None => "31",
    }
}

fn answer_cell(decided: &DecisionRecord, later_answer: Option<&AnswerRecord>) -> String {
    let effect = decided.decision.map_or("?", Effect::as_str);
    let said = decided.answer.as_ref().or(later_answer).map(|answer| match answer.decision {
        ReviewDecision::Approved
        | ReviewDecision::ApprovedForSession
        | ReviewDecision::ApprovedExecpolicyAmendment => "approved",
        ReviewDecision::Denied => "denied",
        ReviewDecision::Abort => "rejected",
    });
    said.map_or_else(|| effect.to_owned(), |said| format!("{effect}, {said}"))
}

/// Returns the requester, the call, and the reason of the answer.
fn call_cells(decided: &DecisionRecord) -> (String, String) {
    let line = |text: &str| escape_text(text, LineMode::SingleLine);
    let short: String = decided.title.chars().take(MAX_TITLE_CHARS).collect();
    let more = if short.len() < decided.title.len() { "…" } else { "" };
    let session: String = decided.session.chars().take(8).collect();
    let who = match session.is_empty() {
        true => line(&decided.agent),
        false => format!("{} {}", line(&decided.agent), line(&session)),
    };
    let what = format!("{who}  {}  {}{more}", line(&decided.tool), line(&short));
    (what, decided.rule.as_ref().map_or_else(|| line(&decided.reason), render_rule))
}

/// Returns a rule with its location.
pub(super) fn render_rule(rule: &RuleRef) -> String {
    format!(
        "{}{}",
        escape_text(&rule.text, LineMode::SingleLine),
        check::format_rule_location(rule)
    )
}

fn render_outcome(outcome: &OutcomeRecord) -> String {
    let how = match (&outcome.error, outcome.status, outcome.signal) {
        (Some(error), ..) if *error == io::ErrorKind::TimedOut.to_string() => {
            "killed after its time limit".to_owned()
        }
        (Some(error), ..) => format!("did not start: {}", escape_text(error, LineMode::SingleLine)),
        (None, ..) if outcome.failure.is_some() => {
            let failure = outcome.failure.as_deref().unwrap_or_default();
            let first = failure.lines().next().unwrap_or_default();
            let short: String = first.chars().take(MAX_TITLE_CHARS).collect();
            format!("failed ({})", escape_text(&short, LineMode::SingleLine))
        }
        (None, Some(status), _) => format!("exit {status}"),
        (None, None, Some(signal)) => format!("signal {signal}"),
        (None, None, None) => "done".to_owned(),
    };
    let confined = if outcome.enforcement.is_some() { ", confined" } else { "" };
    let denials = match outcome.denials.as_slice() {
        [] => String::new(),
        [one] => format!("; refused: {}", escape_text(one, LineMode::SingleLine)),
        [one, more @ ..] => {
            format!("; refused: {} and {} more", escape_text(one, LineMode::SingleLine), more.len())
        }
    };
    let checkpoint = outcome.checkpoint.as_deref().map_or_else(String::new, |id| {
        format!("; checkpoint {}", escape_text(id, LineMode::SingleLine))
    });
    format!("{how} after {}{confined}{denials}{checkpoint}", format_seconds(outcome.duration_ms))
}
