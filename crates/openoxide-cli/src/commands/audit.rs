//! `audit`: what was decided, by whom and why, and what came of it.

mod log;
mod row;
mod stats;
mod verify;

use openoxide_store::{
    Environment,
    audit::{AuditError, Journal},
};

use crate::{
    args::{AuditVerb, Global},
    exit::Exit,
    report,
};

/// What is said where nothing has been written yet.
const NOTHING: &str = "nothing has been written down yet; `openoxide run` and `openoxide hook` do";

/// Looks into the journal.
pub(crate) fn audit(verb: &AuditVerb, global: Global) -> Result<Exit, String> {
    let journal = Journal::of(&Environment::read());
    let seen = journal.and_then(|journal| look(verb, &journal, global));
    Ok(seen.unwrap_or_else(|error| {
        report::failure(&error);
        Exit::Failure
    }))
}

fn look(verb: &AuditVerb, journal: &Journal, global: Global) -> Result<Exit, AuditError> {
    match verb {
        AuditVerb::Log(args) => log::log(args, journal, global),
        AuditVerb::Verify { json } => verify::verify(*json, journal),
        AuditVerb::Stats { json, days } => stats::stats(*json, *days, journal),
    }
}
