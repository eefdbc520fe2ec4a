//! Explicit approval of a further operation of a command.

use openoxide_engine::{CheckOptions, ExecutionPermit, RecordOrigin};
use openoxide_protocol::Operation;
use openoxide_store::audit::RequestedConfinement;

use super::{approval::ApprovalVerdict, confined_run::RunContext};

/// Asks a person for explicit approval of an operation, in its session. Rules and hooks may deny
/// it, but only the person can approve it.
pub(super) fn ask_explicit_approval(
    context: &RunContext<'_>,
    operation: &Operation,
    title: String,
    enforced: RequestedConfinement,
) -> Option<ExecutionPermit> {
    let operation = Operation { session: context.session, ..operation.clone() };
    let options = CheckOptions {
        title: Some(title),
        requires_explicit_approval: true,
        ..CheckOptions::new(RecordOrigin::RUN, enforced)
    };
    match context.check_operation(&operation, options, None).ok()?.verdict {
        ApprovalVerdict::Allowed(permit) => Some(permit),
        ApprovalVerdict::Denied(_) | ApprovalVerdict::Unanswerable(_) => None,
    }
}
