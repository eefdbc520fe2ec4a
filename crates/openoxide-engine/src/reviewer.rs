//! The interface of the engine to a reviewer that this process asks.

use std::time::Duration;

use openoxide_protocol::{ApprovalRequest, ApprovalResponse};
use openoxide_store::audit::AnswerChannel;

use crate::review_record::ReviewOutcome;

/// A reviewer that this process asks while other processes may answer, too: a prompt, a page, the
/// dialog of a client.
///
/// A question begins with [`Self::open`]. It ends with a status of [`Self::poll_answer`] other than
/// [`ReviewStatus::Pending`], or with [`Self::close`].
pub trait Reviewer {
    /// Returns the channel of the answers, for the audit record.
    fn channel(&self) -> AnswerChannel;

    /// Returns the name of the reviewer for other processes.
    fn name(&self) -> &str;

    /// Returns whether this reviewer can answer. One that only waits for the answers of other
    /// processes cannot: if they cannot see a request, it is not asked.
    fn can_answer(&self) -> bool {
        true
    }

    /// Receives a question before the first [`Self::poll_answer`]. A reviewer that is created for
    /// one question can ignore it.
    fn open(&mut self, _request: &ApprovalRequest) {}

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
