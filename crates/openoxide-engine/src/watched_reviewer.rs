//! A reviewer that notices whether another one could be reached.

use std::time::Duration;

use openoxide_protocol::ApprovalRequest;
use openoxide_store::audit::AnswerChannel;

use crate::{
    review_record::ReviewOutcome,
    reviewer::{ReviewStatus, Reviewer},
};

/// Passes everything on to a reviewer, and notices if it cannot be reached. The request is
/// cancelled then, as if a person had cancelled it.
pub(crate) struct WatchedReviewer<'r> {
    reviewer: &'r mut dyn Reviewer,
    is_unreachable: bool,
}

impl<'r> WatchedReviewer<'r> {
    pub(crate) fn new(reviewer: &'r mut dyn Reviewer) -> Self {
        Self { reviewer, is_unreachable: false }
    }

    /// Returns whether the reviewer could not be reached.
    pub(crate) const fn is_unreachable(&self) -> bool {
        self.is_unreachable
    }
}

impl Reviewer for WatchedReviewer<'_> {
    fn channel(&self) -> AnswerChannel {
        self.reviewer.channel()
    }

    fn name(&self) -> &str {
        self.reviewer.name()
    }

    fn can_answer(&self) -> bool {
        self.reviewer.can_answer()
    }

    fn open(&mut self, request: &ApprovalRequest) {
        self.is_unreachable = false;
        self.reviewer.open(request);
    }

    fn poll_answer(&mut self, timeout: Duration) -> ReviewStatus {
        let status = self.reviewer.poll_answer(timeout);
        self.is_unreachable = status == ReviewStatus::Unreachable;
        status
    }

    fn close(&mut self, outcome: &ReviewOutcome) {
        self.reviewer.close(outcome);
    }
}
