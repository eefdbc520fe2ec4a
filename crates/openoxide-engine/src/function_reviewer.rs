//! A reviewer that is a function of the program.

use std::{fmt, time::Duration};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse};
use openoxide_store::audit::AnswerChannel;

use crate::{
    review_record::ReviewOutcome,
    reviewer::{ReviewStatus, Reviewer},
};

/// A reviewer that is a function of the program, which answers at once.
///
/// While the function runs, no other answer is noticed. For a function that waits for a person, use
/// [`BlockingReviewer`](crate::BlockingReviewer).
///
/// ```
/// use openoxide_engine::FunctionReviewer;
/// use openoxide_protocol::{ApprovalResponse, GrantScope};
///
/// let reviewer = FunctionReviewer::new("office hours", |request| {
///     if request.requires_explicit_approval {
///         return ApprovalResponse::Denied; // Left to a person.
///     }
///     ApprovalResponse::new_approval(GrantScope::Once)
/// });
/// ```
pub struct FunctionReviewer<F> {
    name: String,
    function: F,
    request: Option<ApprovalRequest>,
}

impl<F: FnMut(&ApprovalRequest) -> ApprovalResponse> FunctionReviewer<F> {
    /// Returns the reviewer. The name is for other processes and the audit log.
    #[must_use]
    pub fn new(name: impl Into<String>, function: F) -> Self {
        Self { name: name.into(), function, request: None }
    }
}

impl<F: FnMut(&ApprovalRequest) -> ApprovalResponse> Reviewer for FunctionReviewer<F> {
    fn channel(&self) -> AnswerChannel {
        AnswerChannel::Application
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn open(&mut self, request: &ApprovalRequest) {
        self.request = Some(request.clone());
    }

    fn poll_answer(&mut self, _timeout: Duration) -> ReviewStatus {
        match self.request.take() {
            Some(request) => ReviewStatus::Answered((self.function)(&request)),
            None => ReviewStatus::Closed,
        }
    }

    fn close(&mut self, _outcome: &ReviewOutcome) {
        self.request = None;
    }
}

impl<F> fmt::Debug for FunctionReviewer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionReviewer").field("name", &self.name).finish_non_exhaustive()
    }
}
