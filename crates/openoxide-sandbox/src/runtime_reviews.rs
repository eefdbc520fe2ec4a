//! Runtime reviews: a person is asked while a confined process waits for access to a host or for a
//! change of a file.
//!
//! The coordinator asks each question once, limits their number and remembers the answers. The log
//! collects what was denied, for the report. `network`, `file_requests` and `supervisor` use this
//! module.

mod coordinator;
mod denial_log;

pub(crate) use coordinator::{ReviewCoordinator, ReviewOutcome};
pub(crate) use denial_log::DenialLog;
