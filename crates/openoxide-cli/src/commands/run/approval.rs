//! Approval of a checked operation, by a reviewer if one is needed.

use openoxide_engine::{
    CheckOptions, CheckOutcome, ExecutionPermit, InterruptedError, ReviewRecord,
};
use openoxide_permission::OperationRefusal;
use openoxide_protocol::{ApprovalRequest, Operation};

use super::confined_run::RunContext;
use crate::{approval_review::ApprovalReview, terminal_host::TerminalHost};

/// The result of a check, with the review if there was one.
pub(super) struct ApprovalResult {
    pub(super) verdict: ApprovalVerdict,
    pub(super) review: Option<ReviewRecord>,
}

/// The result of an approval.
pub(super) enum ApprovalVerdict {
    /// The operation may be executed.
    Allowed(ExecutionPermit),
    /// The operation may not be executed.
    Denied(OperationRefusal),
    /// A reviewer is needed, and none can be asked.
    Unanswerable(Box<ApprovalRequest>),
}

impl ApprovalResult {
    /// Asks the reviewer until the outcome is final. If a required audit record cannot be written,
    /// a second question follows.
    pub(super) fn from_outcome(
        mut outcome: CheckOutcome<'_>,
        review: Option<&ApprovalReview<'_>>,
    ) -> Self {
        let mut result = None;
        loop {
            let verdict = match (outcome, review) {
                (CheckOutcome::NeedsApproval(pending), Some(review)) => {
                    let answered = review.ask_for_approval(&pending);
                    outcome = pending.answer(&answered, &TerminalHost);
                    result = Some(answered);
                    continue;
                }
                (CheckOutcome::NeedsApproval(pending), None) => {
                    result = None;
                    ApprovalVerdict::Unanswerable(Box::new(pending.abandon(&TerminalHost)))
                }
                (CheckOutcome::Allowed(permit), _) => ApprovalVerdict::Allowed(permit),
                (CheckOutcome::Denied(refusal), _) => ApprovalVerdict::Denied(refusal),
            };
            return Self { verdict, review: result };
        }
    }
}

impl RunContext<'_> {
    /// Checks an operation in the session of this run: hooks, rules, a reviewer and the audit
    /// record.
    ///
    /// # Errors
    /// If the hooks were interrupted.
    pub(super) fn check_operation(
        &self,
        operation: &Operation,
        options: CheckOptions,
        gone: Option<&dyn Fn() -> bool>,
    ) -> Result<ApprovalResult, InterruptedError> {
        let review = ApprovalReview::new(self.args.wait, self.global);
        let review = match gone {
            Some(gone) => review.map(|review| review.with_abandonment_check(gone)),
            None => review,
        };
        let outcome = self.engine.check(operation.clone(), options, &TerminalHost)?;
        Ok(ApprovalResult::from_outcome(outcome, review.as_ref()))
    }
}
