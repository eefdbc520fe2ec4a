//! How a `run` ends that comes to nothing, and what is said then.

use openoxide_adapters::quote;
use openoxide_engine::{ReviewEnd, ReviewResult};
use openoxide_permission::Refusal;
use openoxide_protocol::ApprovalRequest;
use openoxide_tui::{Lines, visible};

use crate::{args::RunArgs, commands::check, exit::Exit, report};

/// Nobody reads more rules in one line.
const MOST_RULES: usize = 20;

pub(super) fn refused(refusal: &Refusal, nothing: &str) -> Exit {
    let why = match refusal {
        Refusal::Denied(decision) => {
            let place = decision.rule.as_ref().map(check::place).unwrap_or_default();
            format!("denied: {}{place}", visible(&decision.reason, Lines::One))
        }
        Refusal::Rejected => "rejected".to_owned(),
        Refusal::Corrected { message } => format!("rejected: {}", visible(message, Lines::Many)),
        Refusal::Cancelled => "cancelled".to_owned(),
    };
    report::say(&format!("openoxide: {why}; {nothing}"));
    Exit::Refused
}

/// Says why a question has no answer, if it has none.
pub(super) fn unanswered(reviewed: &ReviewResult, args: &RunArgs, nothing: &str) -> Option<Exit> {
    let (why, exit) = match &reviewed.end {
        ReviewEnd::Answered { .. } => return None,
        ReviewEnd::Denied(decision) => {
            return Some(refused(&Refusal::Denied(decision.clone()), nothing));
        }
        ReviewEnd::Expired => ("the request expired without an answer", Exit::Expired),
        ReviewEnd::Interrupted => return Some(interrupted(nothing)),
        ReviewEnd::Lost(why) => {
            report::failure(why);
            return Some(unanswerable(&reviewed.request, args, nothing));
        }
    };
    report::say(&format!("openoxide: {why}; {nothing}"));
    Some(exit)
}

pub(super) fn interrupted(nothing: &str) -> Exit {
    report::say(&format!("openoxide: interrupted; {nothing}"));
    Exit::Interrupted
}

/// Returns the words of this very call, its policy, mode and directory included.
fn words(args: &RunArgs) -> Vec<String> {
    let mut words = vec!["openoxide".to_owned(), "run".to_owned()];
    words.extend(args.live.then(|| "--live".to_owned()));
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    for path in &args.policy.policy {
        option("--policy", path.display().to_string());
    }
    if let Some(mode) = args.policy.mode {
        option("--mode", mode.as_str().to_owned());
    }
    if let Some(cwd) = &args.policy.cwd {
        option("--cwd", cwd.display().to_string());
    }
    // A value may be a secret.
    for one in args.env.iter().filter(|one| !one.contains('=')) {
        option("--env", one.clone());
    }
    if args.stage {
        words.push("--stage".to_owned());
    }
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    match &args.script {
        Some(script) => option("-c", script.clone()),
        None => {
            words.push("--".to_owned());
            words.extend_from_slice(&args.command);
        }
    }
    words
}

/// Says what to do where nobody can be asked.
pub(super) fn unanswerable(request: &ApprovalRequest, args: &RunArgs, nothing: &str) -> Exit {
    let words = words(args);
    report::say(&format!(
        "openoxide: approval required, but no terminal is available to ask on: {}",
        visible(&request.decision.reason, Lines::One)
    ));
    report::say(&format!(
        "openoxide: {nothing}; to answer, run in a terminal: {}",
        visible(&quote(&words), Lines::One)
    ));
    if (1..=MOST_RULES).contains(&request.decision.always.len()) {
        let rules = visible(&request.decision.always.join(", "), Lines::One);
        report::say(&format!("openoxide: or add a rule to your policy: {rules}"));
    }
    Exit::Ask
}
