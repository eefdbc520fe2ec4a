//! `audit`: the recorded decisions with their reviewers and reasons, and the outcomes.

mod call_tracker;
mod journal_text;
mod log;
mod record_row;
mod replay;
mod stats;
mod verify;

pub(crate) use stats::DecisionCounts;

use openoxide_store::{UserEnvironment, audit::Journal};

use crate::{
    args::{AuditCommand, GlobalArgs},
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// Runs a command that reads the audit journal.
pub(crate) fn run_audit_command(
    verb: &AuditCommand,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    let journal = Journal::for_user(&UserEnvironment::from_process());
    let seen = match verb {
        AuditCommand::Log(args) => {
            journal.and_then(|journal| log::show_log(args, &journal, global))
        }
        AuditCommand::Verify { json } => {
            journal.and_then(|journal| verify::verify_journal(*json, &journal))
        }
        AuditCommand::Stats { json, days, since } => {
            let from = since.unwrap_or_else(|| stats::first_moment(*days));
            journal.and_then(|journal| stats::show_stats(*json, from, &journal))
        }
        AuditCommand::Replay(args) => return replay::replay_history(args, global),
    };
    Ok(seen.unwrap_or_else(|error| {
        user_messages::print_error(&error);
        ProgramExit::Failure
    }))
}
