//! The audit: what was decided, by whom and why, and what came of it, in a journal that shows what was changed in it.
//!
//! The journal is text: one record a line, in segments that are rotated. Each line holds the hash of the one before
//! ([`verify`](Journal::verify) follows them), and nothing reaches it before it went through [`redaction`](redact()). Why it is no data
//! base, and what a crash can lose, stands in `docs/design/002-audit.md`.

mod anchor;
mod answer_record;
mod audit_record;
mod error;
mod journal;
mod journal_directory;
mod limits;
mod redaction;
mod sealed_line;
mod segments;
mod timestamp;
mod verification;

pub use answer_record::{AnswerChannel, AnswerRecord, GrantRecord};
pub use audit_record::{
    AccessRecord, AuditEvent, AuditRecord, DecisionRecord, EnforcementRecord, OutcomeRecord,
    RecordHeader, RequestedConfinement,
};
pub use error::AuditError;
pub use journal::Journal;
pub use limits::JournalLimits;
pub use redaction::{REDACTED, redact};
pub use sealed_line::JournalLink;
pub use segments::{JournalSegment, split_lines};
pub use timestamp::{MILLIS_PER_DAY, UtcTimestamp};
pub use verification::{JournalFault, VerificationReport};
