//! One record of the audit, for a person.

use openoxide_protocol::{
    Effect, GrantScope, HookAnswer, HookSaid, ReviewDecision, RuleRef, Width,
};
use openoxide_store::audit::{Decided, Entry, Outcome, Record};
use openoxide_tui::{Lines, visible};

use crate::{color::paint, commands::check};

/// How many letters of a title are shown.
const TITLE: usize = 100;
/// How wide the answer is: `ask, approved`.
const ANSWER: usize = 14;

/// Returns a record as lines of a table.
pub(super) fn row(record: &Record, colored: bool) -> String {
    let time = record.time.to_string().replace('T', " ");
    let time = time.get(..19).unwrap_or_default();
    let start = format!("{:>6}  {time}  ", record.seq);
    let (answer, code, rest) = cells(&record.entry);
    let answer = paint(colored, code, &format!("{answer:<ANSWER$}"));
    let (what, grounds) = (rest.0.trim_end(), paint(colored, "2", &rest.1));
    let hooks: String = hooks(&record.entry)
        .chain(kept(&record.entry))
        .map(|hook| format!("{:29}{}\n", "", paint(colored, "2", &hook)))
        .collect();
    match rest.1.is_empty() {
        true => format!("{start}{answer}  {what}\n{hooks}"),
        false => format!("{start}{answer}  {what}\n{:29}{grounds}\n{hooks}", ""),
    }
}

/// Returns what each hook said that said anything.
fn hooks(entry: &Entry) -> impl Iterator<Item = String> {
    let decided = if let Entry::Decision(decided) = entry { Some(decided) } else { None };
    let answers = decided.into_iter().flat_map(|decided| &decided.hooks);
    answers.filter(|answer| answer.said != HookSaid::Pass).map(
        |HookAnswer { hook, said, reason, .. }| {
            let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            visible(&format!("{}: {}{why}", hook.text, said.as_str()), Lines::One)
        },
    )
}

/// Returns for how long a yes counts, if that is more than once.
fn kept(entry: &Entry) -> Option<String> {
    let Entry::Decision(decided) = entry else { return None };
    let answer = decided.answer.as_ref()?;
    let line = |text: &str| visible(text, Lines::One);
    let Some(kept) = &answer.kept else {
        let session = answer.scope == Some(GrantScope::Session);
        return session.then(|| "kept for the session: exactly this".to_owned());
    };
    let width = match kept.width {
        Some(Width::Narrower) => " (narrower)",
        Some(Width::AsOffered) => " (as offered)",
        Some(Width::Wider) => " (wider)",
        None => "",
    };
    let bounds = [
        kept.seconds.map(|seconds| format!(", for {seconds} s")),
        kept.times.map(|times| format!(", {}", times_of(times))),
        kept.below.as_deref().map(|below| format!(", below {}", line(below))),
        kept.task.as_deref().map(|task| format!(", in the task {}", line(task))),
    ];
    let bounds: String = bounds.into_iter().flatten().collect();
    Some(format!("kept for the project: {}{width}{bounds}", line(&kept.rules.join(", "))))
}

fn times_of(times: u32) -> String {
    super::times(u64::from(times))
}

/// Returns the answer, its colour, what it was about, and its grounds.
fn cells(entry: &Entry) -> (String, &'static str, (String, String)) {
    match entry {
        Entry::Decision(decided) => (answer(decided), color(decided.decision), call(decided)),
        Entry::Outcome(ended) => (
            "ended".to_owned(),
            "2",
            (format!("record {}: {}", ended.of, end(ended)), String::new()),
        ),
        Entry::Removed(removed) => {
            let text = format!("records up to {}, because of their age or size", removed.through);
            ("removed".to_owned(), "2", (text, String::new()))
        }
        Entry::Repaired(repaired) => {
            let text = format!("cut off {} bytes of a record whose writer died", repaired.cut);
            ("repaired".to_owned(), "2", (text, String::new()))
        }
    }
}

const fn color(effect: Option<Effect>) -> &'static str {
    match effect {
        Some(Effect::Allow) => "32",
        Some(Effect::Ask) => "33",
        Some(Effect::Deny) | None => "31",
    }
}

fn answer(decided: &Decided) -> String {
    let effect = decided.decision.map_or("?", Effect::as_str);
    let said = decided.answer.as_ref().map(|answer| match answer.choice {
        ReviewDecision::Approved
        | ReviewDecision::ApprovedForSession
        | ReviewDecision::ApprovedExecpolicyAmendment => "approved",
        ReviewDecision::Denied => "denied",
        ReviewDecision::Abort => "rejected",
    });
    said.map_or_else(|| effect.to_owned(), |said| format!("{effect}, {said}"))
}

/// Returns who wanted what, and why the answer was as it was.
fn call(decided: &Decided) -> (String, String) {
    let line = |text: &str| visible(text, Lines::One);
    let short: String = decided.title.chars().take(TITLE).collect();
    let more = if short.len() < decided.title.len() { "…" } else { "" };
    let session: String = decided.session.chars().take(8).collect();
    let who = match session.is_empty() {
        true => line(&decided.agent),
        false => format!("{} {}", line(&decided.agent), line(&session)),
    };
    let what = format!("{who}  {}  {}{more}", line(&decided.tool), line(&short));
    (what, decided.rule.as_ref().map_or_else(|| line(&decided.reason), rule))
}

/// Returns a rule with where it stands.
pub(super) fn rule(rule: &RuleRef) -> String {
    format!("{}{}", visible(&rule.text, Lines::One), check::place(rule))
}

fn end(outcome: &Outcome) -> String {
    let how = match (&outcome.error, outcome.status, outcome.signal) {
        (Some(error), ..) => format!("did not start: {}", visible(error, Lines::One)),
        (None, Some(status), _) => format!("exit {status}"),
        (None, None, Some(signal)) => format!("signal {signal}"),
        (None, None, None) => "no status".to_owned(),
    };
    let (seconds, millis) = (outcome.duration_ms / 1_000, outcome.duration_ms % 1_000);
    let held = if outcome.held.is_some() { ", confined" } else { "" };
    let refused = match outcome.refused.as_slice() {
        [] => String::new(),
        [one] => format!("; refused: {}", visible(one, Lines::One)),
        [one, more @ ..] => {
            format!("; refused: {} and {} more", visible(one, Lines::One), more.len())
        }
    };
    format!("{how} after {seconds}.{millis:03} s{held}{refused}")
}
