//! Messages about the state of the journal.

use openoxide_store::audit::{AuditError, Journal, JournalFault};

use crate::user_messages;

/// The message for a journal without records.
pub(crate) const NO_RECORDS: &str =
    "the journal is empty; `openoxide run` and `openoxide hook` write records";

/// Returns a fault with its location.
pub(super) fn format_fault(fault: &JournalFault) -> String {
    format!("{}:{}: record {}: {}", fault.segment, fault.line, fault.seq, fault.problem)
}

/// Prints a note if the journal is not intact. Returns whether it is.
pub(super) fn print_fault_note(journal: &Journal) -> Result<bool, AuditError> {
    let fault = journal.verify()?.fault;
    if let Some(fault) = &fault {
        let fault = format_fault(fault);
        user_messages::print_note(&format!(
            "the journal is not intact, so records may be missing: {fault}; see `openoxide audit verify`"
        ));
    }
    Ok(fault.is_none())
}
