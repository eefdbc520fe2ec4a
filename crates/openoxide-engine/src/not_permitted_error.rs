//! The errors of a tool that may not run, with messages for the model that called it.
//!
//! The texts for a rejection are those that models receive from OpenCode, so models react in the
//! same way.

use openoxide_permission::OperationRefusal;
use openoxide_protocol::{ApprovalRequest, Decision, Effect, RuleRef};
use thiserror::Error;

use crate::{
    dispatcher::{GateReply, SessionClosedError},
    review_record::{ReviewOutcome, ReviewRecord, WaitError},
};

/// A rule, a mode or the gate itself denies the call. Asking again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", denial_message(.decision))]
pub struct DeniedError {
    /// The decision, with every part of the call.
    pub decision: Box<Decision>,
}

/// A person rejected the call, or rejected another request of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("The user rejected permission to use this specific tool call.")]
pub struct RejectedError;

/// A person rejected the call with an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "The user rejected permission to use this specific tool call with the following feedback: {message}"
)]
pub struct CorrectedError {
    /// The instruction.
    pub message: String,
}

/// A person stopped the turn, or the session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("The user stopped the turn: this tool call was not run.")]
pub struct CancelledError;

/// The call requires approval, but no reviewer is listening for requests.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("This tool call requires the user's approval, but no one can be asked: {}", .request.decision.reason)]
pub struct UnanswerableError {
    /// The request that would have been sent.
    pub request: Box<ApprovalRequest>,
}

/// The request for approval was not answered in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("This tool call requires the user's approval, and the request expired without an answer.")]
pub struct ExpiredError;

/// The wait for the answer to a request failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "This tool call requires the user's approval, but waiting for the answer failed: {message}"
)]
pub struct ReviewFailedError {
    /// A description of the problem.
    pub message: String,
}

/// An error that is returned when a tool may not run.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotPermittedError {
    /// A rule, a mode or the gate itself denies it.
    #[error(transparent)]
    Denied(#[from] DeniedError),
    /// A person rejected the call.
    #[error(transparent)]
    Rejected(#[from] RejectedError),
    /// A person rejected the call with an instruction.
    #[error(transparent)]
    Corrected(#[from] CorrectedError),
    /// A person stopped the turn.
    #[error(transparent)]
    Cancelled(#[from] CancelledError),
    /// No reviewer can be asked.
    #[error(transparent)]
    Unanswerable(#[from] UnanswerableError),
    /// The request was not answered in time.
    #[error(transparent)]
    Expired(#[from] ExpiredError),
    /// The wait for the answer failed.
    #[error(transparent)]
    ReviewFailed(#[from] ReviewFailedError),
    /// The session is over.
    #[error(transparent)]
    SessionClosed(#[from] SessionClosedError),
}

impl DeniedError {
    /// Returns the error for a call that is denied without an evaluation.
    pub(crate) fn from_reason(reason: &str) -> Self {
        Self { decision: Box::new(denied_without_evaluation(reason)) }
    }

    /// Returns the rule that denies the call, or `None` if a mode or the gate itself denies it.
    #[must_use]
    pub fn rule(&self) -> Option<&RuleRef> {
        self.decision.rule.as_ref()
    }
}

impl NotPermittedError {
    /// Returns whether the agent should stop and wait for the person. The model can continue after
    /// a denial or a correction. It has to stop after a plain rejection, as in OpenCode.
    #[must_use]
    pub const fn ends_turn(&self) -> bool {
        match self {
            Self::Denied(_) | Self::Corrected(_) => false,
            Self::Rejected(_)
            | Self::Cancelled(_)
            | Self::Unanswerable(_)
            | Self::Expired(_)
            | Self::ReviewFailed(_)
            | Self::SessionClosed(_) => true,
        }
    }
}

impl NotPermittedError {
    /// Returns the error of a refused operation. If a reviewer was asked, the outcome of the review
    /// is more precise than the refusal.
    #[must_use]
    pub fn from_review(refusal: OperationRefusal, review: Option<&ReviewRecord>) -> Self {
        match review.map(ReviewRecord::outcome) {
            Some(ReviewOutcome::Denied(decision)) => {
                DeniedError { decision: decision.clone() }.into()
            }
            Some(ReviewOutcome::Expired) => ExpiredError.into(),
            Some(ReviewOutcome::Interrupted | ReviewOutcome::Failed(WaitError::Abandoned)) => {
                CancelledError.into()
            }
            Some(ReviewOutcome::Failed(error)) => {
                ReviewFailedError { message: error.to_string() }.into()
            }
            Some(ReviewOutcome::Answered { .. }) | None => refusal.into(),
        }
    }
}

impl From<OperationRefusal> for NotPermittedError {
    fn from(refusal: OperationRefusal) -> Self {
        match refusal {
            OperationRefusal::Denied(decision) => DeniedError { decision }.into(),
            OperationRefusal::Rejected => RejectedError.into(),
            OperationRefusal::Corrected { message } => CorrectedError { message }.into(),
            OperationRefusal::Cancelled => CancelledError.into(),
        }
    }
}

/// Returns the permit of a successful check.
pub(crate) fn permit_from_reply(
    asked: GateReply,
) -> Result<openoxide_permission::Permit, NotPermittedError> {
    match asked {
        GateReply::Permitted(permit) => Ok(permit),
        GateReply::Refused(refusal) => Err(refusal.into()),
        GateReply::Unanswerable(request) => Err(UnanswerableError { request }.into()),
    }
}

/// Returns the decision for a call that is denied without an evaluation.
pub(crate) fn denied_without_evaluation(reason: &str) -> Decision {
    let (parts, findings) = (Vec::new(), Vec::new());
    let (suggested_rules, obligations) = (Vec::new(), Vec::new());
    let (effect, reason, rule) = (Effect::Deny, reason.to_owned(), None);
    Decision { effect, reason, rule, parts, findings, suggested_rules, obligations }
}

/// Returns the message for a denied call. It names the rule, so the model does not try the same
/// action in another form. It does not include the location of the rule.
fn denial_message(decision: &Decision) -> String {
    match &decision.rule {
        Some(RuleRef { text, reason: Some(reason), .. }) => format!(
            "The user has specified a rule which prevents you from using this specific tool call: `{text}`, because: {reason}"
        ),
        // The reason contains the message of a hook.
        Some(RuleRef { text, .. }) if !text.starts_with("hook ") => format!(
            "The user has specified a rule which prevents you from using this specific tool call: `{text}`"
        ),
        _ => format!("This tool call is not permitted: {}", decision.reason),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(rule: Option<(&str, Option<&str>)>) -> Box<Decision> {
        let rule = rule.map(|(text, reason)| RuleRef {
            layer: "user".to_owned(),
            file: Some("/home/me/policy.toml".to_owned()),
            line: Some(4),
            text: text.to_owned(),
            reason: reason.map(str::to_owned),
        });
        let reason = "mode dont_ask denies what would be asked".to_owned();
        let (parts, findings) = (Vec::new(), Vec::new());
        let (always, obligations) = (Vec::new(), Vec::new());
        Box::new(Decision {
            effect: Effect::Deny,
            reason,
            rule,
            parts,
            findings,
            suggested_rules: always,
            obligations,
        })
    }

    fn text(refusal: OperationRefusal) -> String {
        NotPermittedError::from(refusal).to_string()
    }

    /// The first two are recorded from OpenCode.
    #[test]
    fn the_error_text_tells_the_model_how_to_continue() {
        let rejected = "The user rejected permission to use this specific tool call.";
        assert_eq!(text(OperationRefusal::Rejected), rejected);
        let corrected = "The user rejected permission to use this specific tool call with the following feedback: use make";
        assert_eq!(text(OperationRefusal::Corrected { message: "use make".into() }), corrected);
        let because = text(OperationRefusal::Denied(decision(Some((
            "deny Bash(rm *)",
            Some("it is gone then"),
        )))));
        assert!(because.ends_with("`deny Bash(rm *)`, because: it is gone then"), "{because}");
        assert!(!because.contains("policy.toml"));
        let by_mode = text(OperationRefusal::Denied(decision(None)));
        assert!(by_mode.ends_with("mode dont_ask denies what would be asked"), "{by_mode}");
    }

    #[test]
    fn a_rejection_ends_the_turn_and_a_denial_does_not() {
        let ends = |refusal| NotPermittedError::from(refusal).ends_turn();
        assert!(ends(OperationRefusal::Rejected) && ends(OperationRefusal::Cancelled));
        assert!(!ends(OperationRefusal::Corrected { message: "x".into() }));
        assert!(!ends(OperationRefusal::Denied(decision(None))));
    }
}
