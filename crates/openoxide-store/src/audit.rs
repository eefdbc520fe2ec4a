//! The audit journal: records of decisions, who made them and why, and their outcomes. Changes to
//! the journal can be detected.
//!
//! The journal is text, one record per line, in segments that are rotated. Each line contains the
//! hash of the line before it. [`verify`](Journal::verify) checks this chain. Every record passes
//! through [`redaction`](redact()) before it is written. `docs/design/002-audit.md` explains why
//! the journal is not a database and what a crash can lose.

mod anchor;
mod answer_record;
mod audit_record;
mod error;
mod journal;
mod journal_directory;
mod journal_fault;
mod limits;
mod redaction;
mod sealed_line;
mod segments;
mod timestamp;
mod verification;

pub use answer_record::{AnswerChannel, AnswerRecord, GrantRecord};
pub use audit_record::{
    AccessRecord, AnsweredEvent, AuditEvent, AuditRecord, DecisionRecord, EnforcementRecord,
    OutcomeRecord, RecordHeader, RequestedConfinement,
};
pub use error::AuditError;
pub use journal::Journal;
pub use journal_fault::{JournalFault, JournalProblem};
pub use limits::JournalLimits;
pub use redaction::{REDACTED, redact};
pub use sealed_line::JournalPosition;
pub use segments::{JournalSegment, split_lines};
pub use timestamp::{MILLIS_PER_DAY, UtcTimestamp};
pub use verification::VerificationReport;
