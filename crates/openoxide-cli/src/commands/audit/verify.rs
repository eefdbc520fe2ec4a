//! `audit verify`: verification of the hash chain of the journal.

use openoxide_protocol::SCHEMA;
use openoxide_store::audit::{AuditError, Journal, VerificationReport};
use serde_json::{Value, json};

use super::journal_text::{NO_RECORDS, format_fault};
use crate::{program_exit::ProgramExit, user_messages};

/// Verifies the hash chain, and prints the first fault.
pub(super) fn verify_journal(as_json: bool, journal: &Journal) -> Result<ProgramExit, AuditError> {
    let verdict = journal.verify()?;
    let text = if as_json { format!("{}\n", render_json(&verdict)) } else { render_text(&verdict) };
    let exit = if verdict.fault.is_some() { ProgramExit::Failure } else { ProgramExit::Success };
    Ok(user_messages::print_data(&text, exit))
}

fn render_json(verdict: &VerificationReport) -> Value {
    let head = verdict.head.as_ref().map(|head| json!({ "seq": head.seq, "hash": head.hash }));
    let fault = verdict.fault.as_ref().map(|fault| {
        json!({ "segment": fault.segment, "line": fault.line, "seq": fault.seq, "message": fault.problem.to_string() })
    });
    json!({
        "schema": SCHEMA,
        "ok": fault.is_none(),
        "records": verdict.records,
        "first": verdict.first,
        "head": head,
        "unfinished": verdict.unfinished,
        "anchored": verdict.has_anchor,
        "fault": fault,
    })
}

fn render_text(verdict: &VerificationReport) -> String {
    let mut lines = Vec::new();
    match (&verdict.fault, &verdict.head) {
        (Some(fault), _) => {
            lines.push(format_fault(fault));
            lines.push(format!("{} records before it are intact", verdict.records));
        }
        (None, Some(head)) => {
            let first = verdict.first.unwrap_or(1);
            lines.push(format!("{} records, {first} to {}: all intact", verdict.records, head.seq));
            if first > 1 {
                lines.push("older ones were removed because of their age or size".to_owned());
            }
            lines.push(format!("hash of the last record: {}", head.hash));
            if !verdict.has_anchor {
                lines.push("no anchor: missing records at the end cannot be detected".to_owned());
            }
        }
        (None, None) => lines.push(NO_RECORDS.to_owned()),
    }
    if verdict.fault.is_none() && verdict.unfinished > 0 {
        let bytes = verdict.unfinished;
        lines.push(format!(
            "{bytes} bytes after it are an incomplete record, whose writer was killed; the next \
             record replaces them"
        ));
    }
    lines.join("\n") + "\n"
}
