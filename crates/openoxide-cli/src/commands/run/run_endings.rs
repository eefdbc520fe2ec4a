//! Ends of a `run` that does not start the command, and their messages.

use openoxide_adapters::quote_words;
use openoxide_engine::{ReviewOutcome, ReviewRecord};
use openoxide_permission::OperationRefusal;
use openoxide_protocol::ApprovalRequest;
use openoxide_tui::{LineMode, escape_text};

use crate::{args::RunArgs, commands::check, program_exit::ProgramExit, user_messages};

/// The maximum number of rules that are shown in one line.
const MAX_SHOWN_RULES: usize = 20;

pub(super) fn report_refusal(refusal: &OperationRefusal, nothing: &str) -> ProgramExit {
    let why = match refusal {
        OperationRefusal::Denied(decision) => {
            let place = decision.rule.as_ref().map(check::format_rule_location).unwrap_or_default();
            format!("denied: {}{place}", escape_text(&decision.reason, LineMode::SingleLine))
        }
        OperationRefusal::Rejected => "rejected".to_owned(),
        OperationRefusal::Corrected { message } => {
            format!("rejected: {}", escape_text(message, LineMode::MultiLine))
        }
        OperationRefusal::Cancelled => "cancelled".to_owned(),
    };
    user_messages::print_line(&format!("openoxide: {why}; {nothing}"));
    ProgramExit::Refused
}

/// Reports the reason for which a request has no answer, if it has none.
pub(super) fn report_unanswered(
    reviewed: &ReviewRecord,
    args: &RunArgs,
    nothing: &str,
) -> Option<ProgramExit> {
    let (why, exit) = match &reviewed.outcome {
        ReviewOutcome::Answered { .. } => return None,
        ReviewOutcome::Denied(decision) => {
            return Some(report_refusal(&OperationRefusal::Denied(decision.clone()), nothing));
        }
        ReviewOutcome::Expired => ("the request expired without an answer", ProgramExit::Expired),
        ReviewOutcome::Interrupted => return Some(report_interruption(nothing)),
        ReviewOutcome::Failed(why) => {
            user_messages::print_error(why);
            return Some(report_unanswerable(&reviewed.request, args, nothing));
        }
    };
    user_messages::print_line(&format!("openoxide: {why}; {nothing}"));
    Some(exit)
}

pub(super) fn report_interruption(nothing: &str) -> ProgramExit {
    user_messages::print_line(&format!("openoxide: interrupted; {nothing}"));
    ProgramExit::Interrupted
}

/// Returns the words of this very call, its policy, mode and directory included.
fn reconstruct_command(args: &RunArgs) -> Vec<String> {
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

/// Reports that no person can be asked, and ways to answer.
pub(super) fn report_unanswerable(
    request: &ApprovalRequest,
    args: &RunArgs,
    nothing: &str,
) -> ProgramExit {
    let words = reconstruct_command(args);
    user_messages::print_line(&format!(
        "openoxide: approval required, but no terminal is available to ask on: {}",
        escape_text(&request.decision.reason, LineMode::SingleLine)
    ));
    user_messages::print_line(&format!(
        "openoxide: {nothing}; to answer, run in a terminal: {}",
        escape_text(&quote_words(&words), LineMode::SingleLine)
    ));
    if (1..=MAX_SHOWN_RULES).contains(&request.decision.always.len()) {
        let rules = escape_text(&request.decision.always.join(", "), LineMode::SingleLine);
        user_messages::print_line(&format!("openoxide: or add a rule to your policy: {rules}"));
    }
    ProgramExit::Ask
}
