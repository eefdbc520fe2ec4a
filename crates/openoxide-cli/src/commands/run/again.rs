//! Another question of the same command, after it has run.

use openoxide_engine::{CheckOptions, ExecutionPermit, RecordOrigin};
use openoxide_protocol::Operation;
use openoxide_store::audit::Enforced;

use super::{approval::Verdict, confined::RunContext};

/// Asks a person this about an operation, in its session. Rules and hooks may deny it; nothing but a person's yes grants it.
pub(super) fn ask(
    context: &RunContext<'_>,
    operation: &Operation,
    title: String,
    enforced: Enforced,
) -> Option<ExecutionPermit> {
    let operation = Operation { session: context.session, ..operation.clone() };
    let options = CheckOptions {
        title: Some(title),
        explicit_yes_required: true,
        ..CheckOptions::new(RecordOrigin::RUN, enforced)
    };
    match context.approve(&operation, options, None).ok()?.verdict {
        Verdict::Allowed(permit) => Some(permit),
        Verdict::Denied(_) | Verdict::Unanswerable(_) => None,
    }
}
