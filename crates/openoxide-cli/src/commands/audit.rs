//! `audit`: the recorded decisions with their reviewers and reasons, and the outcomes.

mod log;
mod record_row;
mod replay;
mod stats;
mod verify;

use openoxide_store::{UserEnvironment, audit::Journal};

use crate::{
    args::{AuditCommand, GlobalArgs},
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// The message for a journal without records.
const NO_RECORDS: &str =
    "nothing has been written down yet; `openoxide run` and `openoxide hook` do";

/// Looks into the journal.
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
        AuditCommand::Stats { json, days } => {
            journal.and_then(|journal| stats::show_stats(*json, *days, &journal))
        }
        AuditCommand::Replay(args) => return replay::replay_history(args, global),
    };
    Ok(seen.unwrap_or_else(|error| {
        user_messages::print_error(&error);
        ProgramExit::Failure
    }))
}

/// Returns how often, in words.
pub(crate) fn format_times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
