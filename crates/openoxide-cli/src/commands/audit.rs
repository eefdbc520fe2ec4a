//! `audit`: what was decided, by whom and why, and what came of it.

mod log;
mod replay;
mod row;
mod stats;
mod verify;

use openoxide_store::{Environment, audit::Journal};

use crate::{
    args::{AuditVerb, Global},
    error::CliError,
    exit::Exit,
    report,
};

/// What is said where nothing has been written yet.
const NOTHING: &str = "nothing has been written down yet; `openoxide run` and `openoxide hook` do";

/// Looks into the journal.
pub(crate) fn audit(verb: &AuditVerb, global: Global) -> Result<Exit, CliError> {
    let journal = Journal::of(&Environment::read());
    let seen = match verb {
        AuditVerb::Log(args) => journal.and_then(|journal| log::log(args, &journal, global)),
        AuditVerb::Verify { json } => journal.and_then(|journal| verify::verify(*json, &journal)),
        AuditVerb::Stats { json, days } => {
            journal.and_then(|journal| stats::stats(*json, *days, &journal))
        }
        AuditVerb::Replay(args) => return replay::replay(args, global),
    };
    Ok(seen.unwrap_or_else(|error| {
        report::failure(&error);
        Exit::Failure
    }))
}

/// Returns how often, in words.
pub(crate) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
