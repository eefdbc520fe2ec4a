//! Ends of a `run` that does not start the command, and their messages.

use std::{env, io, iter};

use openoxide_adapters::quote_words;
use openoxide_engine::{ReviewOutcome, ReviewRecord};
use openoxide_permission::OperationRefusal;
use openoxide_protocol::ApprovalRequest;
use openoxide_tui::{LineMode, escape_text};

use crate::{
    args::RunArgs, commands::check, program_exit::ProgramExit, staged_changes::NO_CHANGE_MESSAGE,
    user_messages,
};

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

/// Reports the reason for which a request has no answer. Returns `None` if it has one.
pub(super) fn report_unanswered(
    reviewed: &ReviewRecord,
    args: &RunArgs,
    nothing: &str,
) -> Option<ProgramExit> {
    let (why, exit) = match reviewed.outcome() {
        ReviewOutcome::Answered { .. } => return None,
        ReviewOutcome::Denied(decision) => {
            return Some(report_refusal(&OperationRefusal::Denied(decision.clone()), nothing));
        }
        ReviewOutcome::Expired => ("the request expired without an answer", ProgramExit::Expired),
        ReviewOutcome::Interrupted => return Some(report_interruption(nothing)),
        ReviewOutcome::Failed(why) => {
            user_messages::print_error(why);
            let words = reconstruct_command(args);
            return Some(report_unanswerable(reviewed.request(), &words, nothing));
        }
    };
    user_messages::print_line(&format!("openoxide: {why}; {nothing}"));
    Some(exit)
}

pub(super) fn report_interruption(nothing: &str) -> ProgramExit {
    user_messages::print_line(&format!("openoxide: interrupted; {nothing}"));
    ProgramExit::Interrupted
}

/// Reports the error for which no file was changed.
pub(super) fn report_failure(error: &io::Error) -> ProgramExit {
    user_messages::print_error(&format!("{NO_CHANGE_MESSAGE}: {error}"));
    ProgramExit::RunFailed
}

/// Returns the words of this call with all options but two: `--no-input`, because the command is to
/// be run where a question can be answered, and the values of variables, which may be secrets.
pub(super) fn reconstruct_command(args: &RunArgs) -> Vec<String> {
    let given = env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned());
    iter::once("openoxide".to_owned()).chain(repeatable_words(given, &args.env)).collect()
}

/// Returns `words` without `--no-input` and without the options that set one of `variables` to a
/// value. The words after `--` and the script after `-c` are kept.
fn repeatable_words(words: impl Iterator<Item = String>, variables: &[String]) -> Vec<String> {
    let mut secrets: Vec<&String> = variables.iter().filter(|one| one.contains('=')).collect();
    let mut kept: Vec<String> = Vec::new();
    let mut in_command = false;
    for word in words {
        in_command |= word == "--";
        let is_script = kept.last().is_some_and(|last| last == "-c");
        if in_command || is_script {
            kept.push(word);
            continue;
        }
        if word == "--no-input" {
            continue;
        }
        let value = word.strip_prefix("--env=").unwrap_or(&word);
        let is_value = value.len() < word.len() || kept.last().is_some_and(|last| last == "--env");
        match secrets.iter().position(|secret| is_value && *secret == value) {
            Some(at) => {
                secrets.remove(at);
                if value.len() == word.len() {
                    kept.pop();
                }
            }
            None => kept.push(word),
        }
    }
    kept
}

/// Reports that no person can be asked, and ways to answer: a command, and rules.
pub(super) fn report_unanswerable(
    request: &ApprovalRequest,
    words: &[String],
    nothing: &str,
) -> ProgramExit {
    user_messages::print_line(&format!(
        "openoxide: approval required, but no terminal is available to ask on: {}",
        escape_text(&request.decision.reason, LineMode::SingleLine)
    ));
    user_messages::print_line(&format!(
        "openoxide: {nothing}; to answer, run in a terminal: {}",
        escape_text(&quote_words(words), LineMode::SingleLine)
    ));
    if (1..=MAX_SHOWN_RULES).contains(&request.decision.suggested_rules.len()) {
        let rules = escape_text(&request.decision.suggested_rules.join(", "), LineMode::SingleLine);
        user_messages::print_line(&format!("openoxide: or add a rule to your policy: {rules}"));
    }
    ProgramExit::Ask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_kept_except_no_input_and_values_of_variables() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let kept = |text, variables: &[&str]| {
            let variables: Vec<String> = variables.iter().map(|one| (*one).to_owned()).collect();
            repeatable_words(words(text).into_iter(), &variables).join(" ")
        };
        let text =
            "run --sandbox read-only --deny Bash(x) --env A=1 --env=B=2 --env C -- p --env A=1";
        let expected = "run --sandbox read-only --deny Bash(x) --env C -- p --env A=1";
        assert_eq!(kept(text, &["A=1", "B=2", "C"]), expected);
        assert_eq!(kept("run -c --env=A=1", &["A=1"]), "run -c --env=A=1");
        assert_eq!(kept("--no-input run -- p --no-input", &[]), "run -- p --no-input");
    }
}
