//! The interface of the engine to a reviewer that this process asks.

use std::time::Duration;

use openoxide_protocol::ApprovalResponse;
use openoxide_store::audit::AnswerChannel;

use crate::review_record::ReviewOutcome;

/// A reviewer that this process asks while other processes may answer, too: a prompt, a page, the
/// dialog of a client.
pub trait Reviewer {
    /// Returns the channel of the answers, for the audit record.
    fn channel(&self) -> AnswerChannel;

    /// Returns the name of the reviewer for other processes.
    fn name(&self) -> &str;

    /// Waits for an answer, no longer than `timeout`.
    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus;

    /// Closes the question, which has ended without an answer of this reviewer.
    fn close(&mut self, outcome: &ReviewOutcome);
}

/// The state of a question to a reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReviewStatus {
    /// There is no answer yet.
    Pending,
    /// The reviewer has answered.
    Answered(ApprovalResponse),
    /// The reviewer can no longer be reached. The request is cancelled, which is not an answer, so
    /// other requests of the session are not affected.
    Unreachable,
    /// The question was closed without an answer. The operation counts as interrupted.
    Closed,
}
