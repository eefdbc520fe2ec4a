//! A reviewer for programs whose requests are only answered by other processes.

use std::{fmt, thread, time::Duration};

use openoxide_protocol::ApprovalRequest;
use openoxide_store::audit::AnswerChannel;

use crate::{
    review_record::ReviewOutcome,
    reviewer::{ReviewStatus, Reviewer},
};

/// A reviewer that answers nothing: a person answers in another terminal, with `openoxide approve`
/// or `openoxide deny`.
///
/// If a request cannot be written to the queue, no one can answer it, and the call is not permitted.
///
/// ```
/// use openoxide_engine::QueueReviewer;
///
/// let reviewer = QueueReviewer::new(|request| {
///     println!("waiting for approval: run `openoxide approve {}`", request.id);
/// });
/// ```
pub struct QueueReviewer<F> {
    announce: F,
}

impl<F: FnMut(&ApprovalRequest)> QueueReviewer<F> {
    /// Returns the reviewer. The function tells the user that a request is pending.
    #[must_use]
    pub const fn new(announce: F) -> Self {
        Self { announce }
    }
}

impl<F: FnMut(&ApprovalRequest)> Reviewer for QueueReviewer<F> {
    fn channel(&self) -> AnswerChannel {
        AnswerChannel::Command
    }

    fn name(&self) -> &str {
        "the queue"
    }

    fn can_answer(&self) -> bool {
        false
    }

    fn open(&mut self, request: &ApprovalRequest) {
        (self.announce)(request);
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        thread::sleep(timeout);
        ReviewStatus::Pending
    }

    fn close(&mut self, _outcome: &ReviewOutcome) {}
}

impl<F> fmt::Debug for QueueReviewer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueReviewer").finish_non_exhaustive()
    }
}
