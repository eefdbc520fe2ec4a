//! The audit: what was decided, by whom and why, and what came of it, in a journal that shows what was changed in it.
//!
//! The journal is text: one record a line, in segments that are rotated. Each line holds the hash of the one before
//! ([`verify`](Journal::verify) follows them), and nothing reaches it before it went through [`redact`](redact()). Why it is no data
//! base, and what a crash can lose, stands in `docs/design/002-audit.md`.

mod anchor;
mod answer;
mod entry;
mod error;
mod journal;
mod limits;
mod place;
mod redact;
mod seal;
mod segments;
mod time;
mod verify;

pub use answer::{Answer, Channel, Kept};
pub use entry::{Decided, Enforced, Entry, Head, Holding, Judged, Outcome, Record};
pub use error::AuditError;
pub use journal::Journal;
pub use limits::Limits;
pub use redact::{REDACTED, redact};
pub use seal::Link;
pub use segments::{Segment, lines};
pub use time::{DAY, Moment};
pub use verify::{Fault, Verdict};
