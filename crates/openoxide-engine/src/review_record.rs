//! A question to a reviewer, with its outcome.

use openoxide_protocol::{ApprovalRequest, ApprovalResponse, Decision};
use openoxide_store::{
    RequestStoreError,
    audit::{AnswerChannel, AnswerRecord, UtcTimestamp},
};
use thiserror::Error;

use crate::error::EngineOpenError;

/// A question to a reviewer, with its outcome.
///
/// Only the engine creates it, from an answer or from a failed wait.
#[derive(Debug)]
pub struct ReviewRecord {
    pub(crate) request: ApprovalRequest,
    pub(crate) outcome: ReviewOutcome,
    /// True if an approval can be saved as a grant.
    pub(crate) can_save_grant: bool,
}

/// The outcome of a question to a reviewer.
#[derive(Debug)]
pub enum ReviewOutcome {
    /// The question was answered, by this process or by another one.
    Answered {
        /// The answer.
        response: ApprovalResponse,
        /// The channel through which the answer was given.
        channel: AnswerChannel,
        /// The reviewer who gave the answer, if known.
        answered_by: Option<String>,
    },
    /// The current policy denies the call.
    Denied(Box<Decision>),
    /// The question was not answered in time.
    Expired,
    /// The program that asked was interrupted.
    Interrupted,
    /// The wait for an answer failed.
    Failed(WaitError),
}

/// An error that ends a wait for an answer.
#[derive(Debug, Error)]
pub enum WaitError {
    /// The request store could not be read or written.
    #[error(transparent)]
    Store(#[from] RequestStoreError),
    /// The current policy could not be loaded, so an approval cannot be checked against it.
    #[error(transparent)]
    Policy(#[from] EngineOpenError),
    /// The operation has another access or finding than the reviewer was shown: a file or a link has
    /// changed. Contains the first one.
    #[error("the call changed while it waited, and now includes `{0}`; try it again")]
    OperationChanged(String),
    /// The answer is no longer needed.
    #[error("the program that waited has ended")]
    Abandoned,
    /// Another process withdrew the request.
    #[error("the request was withdrawn elsewhere")]
    Withdrawn,
    /// The request is no longer in the store, and has no resolution.
    #[error("the request was lost")]
    Lost,
}

impl ReviewRecord {
    /// Returns the question that the reviewer was shown.
    #[must_use]
    pub const fn request(&self) -> &ApprovalRequest {
        &self.request
    }

    /// Returns the outcome of the question.
    #[must_use]
    pub const fn outcome(&self) -> &ReviewOutcome {
        &self.outcome
    }

    /// Returns the answer for the gate. Every outcome other than an answer is a denial.
    #[must_use]
    pub fn response(&self) -> ApprovalResponse {
        match &self.outcome {
            ReviewOutcome::Answered { response, .. } => response.clone(),
            ReviewOutcome::Denied(_)
            | ReviewOutcome::Expired
            | ReviewOutcome::Interrupted
            | ReviewOutcome::Failed(_) => ApprovalResponse::Denied,
        }
    }

    pub(crate) fn to_answer_record(&self) -> Option<AnswerRecord> {
        let ReviewOutcome::Answered { response, channel, answered_by: by } = &self.outcome else {
            return None;
        };
        let answer = AnswerRecord::new(&self.request, response, *channel, by.clone());
        let waited = |asked| UtcTimestamp::now().0.saturating_sub(asked);
        let answer =
            AnswerRecord { waited_ms: self.request.id.unix_millis().map(waited), ..answer };
        Some(if self.can_save_grant { answer } else { AnswerRecord { grant: None, ..answer } })
    }
}
