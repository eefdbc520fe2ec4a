//! The review of a pending request: by a reviewer of this process, and by other processes through
//! the request store.

use std::time::Instant;

use openoxide_protocol::ApprovalResponse;

use crate::{
    check_host::{CheckHost, InterruptWatch},
    engine_warning::EngineWarning,
    operation_check::PendingApproval,
    queued_request::{POLL_INTERVAL, WaitOptions},
    review_record::{ReviewOutcome, ReviewRecord, WaitError},
    reviewer::{ReviewStatus, Reviewer},
};

impl PendingApproval<'_> {
    /// Asks a reviewer of this process. Other processes can answer as well. The first answer
    /// applies.
    ///
    /// If the request cannot be registered, only the reviewer is asked, and the host receives a
    /// warning. If the reviewer cannot answer either ([`Reviewer::can_answer`]), the review has
    /// failed.
    #[must_use]
    pub fn ask_reviewer(
        &self,
        reviewer: &mut dyn Reviewer,
        options: WaitOptions<'_>,
        host: &dyn CheckHost,
    ) -> ReviewRecord {
        match self.register(options, host) {
            Ok(queued) => queued.wait_with(reviewer),
            Err(error) if reviewer.can_answer() => {
                host.warn(EngineWarning::NotQueued(error));
                self.wait_without_queue(reviewer, options, host)
            }
            Err(error) => self.failed_review_record(WaitError::Store(error)),
        }
    }

    /// Waits until the reviewer answers, or the request ends in another way.
    fn wait_without_queue(
        &self,
        reviewer: &mut dyn Reviewer,
        options: WaitOptions<'_>,
        host: &dyn CheckHost,
    ) -> ReviewRecord {
        let wait = LocalWait::start(options, host);
        reviewer.open(self.request());
        let status = wait.poll_until_end(reviewer);
        let channel = reviewer.channel();
        let record = match status {
            Ok(ReviewStatus::Answered(response)) => self.review(response, channel, host),
            Ok(ReviewStatus::Unreachable) => {
                self.review(ApprovalResponse::Cancelled, channel, host)
            }
            Ok(ReviewStatus::Pending | ReviewStatus::Closed) => {
                self.review_record(ReviewOutcome::Interrupted)
            }
            Err(outcome) => {
                reviewer.close(&outcome);
                self.review_record(outcome)
            }
        };
        // If an interrupt arrived together with the approval, nothing runs.
        match wait.interrupts.stop() {
            true => self.review_record(ReviewOutcome::Interrupted),
            false => record,
        }
    }
}

/// A wait for an answer of this process only.
struct LocalWait<'a> {
    options: WaitOptions<'a>,
    interrupts: Box<dyn InterruptWatch + 'a>,
    deadline: Option<Instant>,
}

impl<'a> LocalWait<'a> {
    fn start(options: WaitOptions<'a>, host: &'a dyn CheckHost) -> Self {
        let deadline = options.timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        Self { options, interrupts: host.watch_interrupts(), deadline }
    }

    /// Returns how the reviewer ended the question, or the outcome of a wait that ended otherwise.
    fn poll_until_end(&self, reviewer: &mut dyn Reviewer) -> Result<ReviewStatus, ReviewOutcome> {
        loop {
            let status = reviewer.poll_answer(POLL_INTERVAL);
            if status != ReviewStatus::Pending {
                return Ok(status);
            }
            if let Some(outcome) = self.outcome() {
                return Err(outcome);
            }
            if !reviewer.can_answer() {
                return Ok(ReviewStatus::Unreachable);
            }
        }
    }

    fn outcome(&self) -> Option<ReviewOutcome> {
        if self.interrupts.is_interrupted() {
            Some(ReviewOutcome::Interrupted)
        } else if self.options.is_abandoned.is_some_and(|is_abandoned| is_abandoned()) {
            Some(ReviewOutcome::Failed(WaitError::Abandoned))
        } else if self.deadline.is_some_and(|deadline| deadline <= Instant::now()) {
            Some(ReviewOutcome::Expired)
        } else {
            None
        }
    }
}
