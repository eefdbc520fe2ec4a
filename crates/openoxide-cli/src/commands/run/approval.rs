//! From a checked operation to its permit: a reviewer is asked, where one can be.

use openoxide_engine::{
    CheckOptions, CheckOutcome, ExecutionPermit, InterruptedError, ReviewResult,
};
use openoxide_permission::Refusal;
use openoxide_protocol::{ApprovalRequest, Operation};

use super::confined::RunContext;
use crate::{check_host::TerminalHost, review::Review};

/// The result of a check, with the review if there was one.
pub(super) struct Approval {
    pub(super) verdict: Verdict,
    pub(super) review: Option<ReviewResult>,
}

/// Whether an operation may be executed.
pub(super) enum Verdict {
    /// It may.
    Allowed(ExecutionPermit),
    /// It may not.
    Denied(Refusal),
    /// A reviewer is needed, and none can be asked.
    Unanswerable(Box<ApprovalRequest>),
}

impl Approval {
    /// Has a question answered until none is left. What must be recorded and cannot be is a second question.
    pub(super) fn from_outcome(mut outcome: CheckOutcome<'_>, review: Option<&Review<'_>>) -> Self {
        let mut result = None;
        loop {
            let verdict = match (outcome, review) {
                (CheckOutcome::NeedsApproval(pending), Some(review)) => {
                    let answered = review.ask(pending.request().clone());
                    outcome = pending.answer(&answered, &TerminalHost);
                    result = Some(answered);
                    continue;
                }
                (CheckOutcome::NeedsApproval(pending), None) => {
                    result = None;
                    Verdict::Unanswerable(Box::new(pending.give_up(&TerminalHost)))
                }
                (CheckOutcome::Allowed(permit), _) => Verdict::Allowed(permit),
                (CheckOutcome::Denied(refusal), _) => Verdict::Denied(refusal),
            };
            return Self { verdict, review: result };
        }
    }
}

impl RunContext<'_> {
    /// Checks an operation like any other, in the session of this run: hooks, rules, a person, the audit log.
    ///
    /// # Errors
    /// When the hooks were interrupted.
    pub(super) fn approve(
        &self,
        operation: &Operation,
        options: CheckOptions,
        gone: Option<&dyn Fn() -> bool>,
    ) -> Result<Approval, InterruptedError> {
        let review = Review::of(self.engine, self.args, self.global, operation.clone());
        let review = match gone {
            Some(gone) => review.map(|review| review.unless(gone)),
            None => review,
        };
        let outcome = self.engine.check(operation.clone(), options, &TerminalHost)?;
        Ok(Approval::from_outcome(outcome, review.as_ref()))
    }
}
