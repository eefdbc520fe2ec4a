//! One registered request, and everything that may end it.

use openoxide_engine::{GrantUseMode, ReviewOutcome};
use openoxide_protocol::{
    ApprovalId, ApprovalRequest, ApprovalResponse, GrantScope, OperationDigest, ResolutionKind,
};
use openoxide_store::{
    AnswerResult, NewRequest, RequestResolution, RequestResolutionKind, RequestStore,
    SqliteRequestStore, UserEnvironment,
    audit::{AnswerChannel, UtcTimestamp},
};

use super::{
    ApprovalReview, allowed_by_policy, is_project_grant, save_grant, signal_watch::SignalWatch,
};
use crate::user_messages;

const APPROVED_ONCE: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);

/// A request that waits in the data base.
pub(super) struct RequestWatch<'a> {
    review: &'a ApprovalReview<'a>,
    requests: Box<dyn RequestStore>,
    signals: SignalWatch,
    id: ApprovalId,
    digest: OperationDigest,
    requires_explicit_approval: bool,
    expires_at: Option<UtcTimestamp>,
}

impl<'a> RequestWatch<'a> {
    /// Registers a request. An answer that comes before the first look is seen by it.
    pub(super) fn register(
        review: &'a ApprovalReview<'a>,
        request: &ApprovalRequest,
    ) -> Result<Self, String> {
        let wait = review.wait_seconds.map(|seconds| u64::from(seconds) * 1_000);
        let expires_at = wait.map(|wait| UtcTimestamp(UtcTimestamp::now().0.saturating_add(wait)));
        let project = review.engine.grant_file().map(openoxide_store::GrantFile::project);
        let asking = NewRequest { request, requester: "person", project, expires_at };
        let mut requests = SqliteRequestStore::open(&UserEnvironment::from_process())
            .map_err(|error| error.to_string())?;
        // Signals are watched before the request is registered, so that no signal is missed while
        // it is pending.
        let signals = SignalWatch::start();
        let shown = requests.register(&asking).map_err(|error| error.to_string())?;
        let requests = Box::new(requests);
        let (id, explicit) = (request.id, request.requires_explicit_approval);
        Ok(Self {
            review,
            requests,
            signals,
            id,
            digest: shown,
            requires_explicit_approval: explicit,
            expires_at,
        })
    }

    /// Returns the end, if it has come.
    pub(super) fn poll_end(&mut self) -> Option<ReviewOutcome> {
        if self.signals.is_interrupted() {
            return Some(self.withdraw(ReviewOutcome::Interrupted));
        }
        if self.review.is_abandoned.is_some_and(|gone| gone()) {
            return Some(
                self.withdraw(ReviewOutcome::Failed(
                    "the program that waited has ended".to_owned(),
                )),
            );
        }
        match self.requests.has_changed() {
            Ok(true) => self.check_changes(),
            Ok(false) => None,
            Err(error) => Some(ReviewOutcome::Failed(error.to_string())),
        }
        .or_else(|| self.check_expiry())
    }

    /// Checks a change of the database: an answer, or a grant that covers this request.
    fn check_changes(&mut self) -> Option<ReviewOutcome> {
        match self.requests.find_resolution(self.id, self.digest) {
            Ok(Some(ended)) => Some(self.outcome_of_resolution(ended)),
            Ok(None) => self.check_current_policy(),
            Err(error) => Some(ReviewOutcome::Failed(error.to_string())),
        }
    }

    /// Returns the outcome of an answer that was given elsewhere. If the policy now denies the
    /// operation, it is denied, whatever the answer was.
    fn outcome_of_resolution(&self, ended: RequestResolution) -> ReviewOutcome {
        let by = Some(ended.resolved_by);
        match ended.kind {
            RequestResolutionKind::Resolved { response, .. }
                if matches!(response, ApprovalResponse::Approved { .. }) =>
            {
                match self.review.current_decision(GrantUseMode::Preview) {
                    Ok(decision) if allowed_by_policy(&decision) == Some(false) => {
                        ReviewOutcome::Denied(Box::new(decision))
                    }
                    Ok(_) => ReviewOutcome::Answered {
                        response,
                        channel: AnswerChannel::Command,
                        answered_by: by,
                    },
                    Err(error) => ReviewOutcome::Failed(error.to_string()),
                }
            }
            RequestResolutionKind::Resolved { response, .. } => ReviewOutcome::Answered {
                response,
                channel: AnswerChannel::Command,
                answered_by: by,
            },
            RequestResolutionKind::Expired => ReviewOutcome::Expired,
            RequestResolutionKind::Withdrawn | RequestResolutionKind::Abandoned => {
                ReviewOutcome::Failed("the request was withdrawn elsewhere".to_owned())
            }
        }
    }

    /// Ends the request if the policy now decides it. A request that needs explicit approval cannot
    /// be approved in this way.
    fn check_current_policy(&mut self) -> Option<ReviewOutcome> {
        let decision = self.review.current_decision(GrantUseMode::Spend).ok()?;
        let (ending, end) = match allowed_by_policy(&decision)? {
            // A hook's question is not the policy's to answer.
            true if self.requires_explicit_approval => return None,
            true => {
                let kind = ResolutionKind::Retroactive;
                let (channel, by) = (AnswerChannel::Command, Some(decision.reason));
                let end =
                    ReviewOutcome::Answered { response: APPROVED_ONCE, channel, answered_by: by };
                (RequestResolutionKind::Resolved { kind, response: APPROVED_ONCE }, end)
            }
            false => (RequestResolutionKind::Withdrawn, ReviewOutcome::Denied(Box::new(decision))),
        };
        Some(self.resolve_request(&ending, "the policy", end))
    }

    fn check_expiry(&mut self) -> Option<ReviewOutcome> {
        let late = self.expires_at.is_some_and(|at| at <= UtcTimestamp::now());
        late.then(|| {
            self.resolve_request(&RequestResolutionKind::Expired, "timeout", ReviewOutcome::Expired)
        })
    }

    /// Stops waiting. If a signal to end arrived together with the approval, nothing runs.
    pub(super) fn stop(self, end: ReviewOutcome) -> ReviewOutcome {
        if self.signals.stop() { ReviewOutcome::Interrupted } else { end }
    }

    /// Withdraws the request. A write error is ignored: other processes detect that the requesting
    /// process no longer waits.
    pub(super) fn withdraw(&mut self, end: ReviewOutcome) -> ReviewOutcome {
        drop(self.requests.resolve(self.id, &RequestResolutionKind::Withdrawn, "who asked"));
        end
    }

    /// Resolves the request. If it was resolved earlier, returns that outcome.
    fn resolve_request(
        &mut self,
        ending: &RequestResolutionKind,
        by: &str,
        end: ReviewOutcome,
    ) -> ReviewOutcome {
        match self.requests.resolve(self.id, ending, by) {
            Ok(true) => end,
            Ok(false) => self.earlier_outcome(),
            Err(error) => ReviewOutcome::Failed(error.to_string()),
        }
    }

    /// Returns the end that came before ours.
    fn earlier_outcome(&mut self) -> ReviewOutcome {
        match self.requests.find_resolution(self.id, self.digest) {
            Ok(Some(ended)) => self.outcome_of_resolution(ended),
            Ok(None) => ReviewOutcome::Failed("the request was lost".to_owned()),
            Err(error) => ReviewOutcome::Failed(error.to_string()),
        }
    }

    /// Submits the answer that was given in this terminal, unless the request was answered
    /// elsewhere. The answer applies even if the database cannot be written.
    pub(super) fn submit_answer(
        &mut self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> ReviewOutcome {
        let grants = self.review.engine.grant_file();
        let mut kept = false;
        let mut once = || {
            kept = true;
            save_grant(grants, request, &response);
            Ok(())
        };
        let answered =
            self.requests.answer((self.id, self.digest), &response, "the prompt", &mut once);
        match answered {
            Ok(AnswerResult::AlreadyResolved(ended)) => {
                user_messages::print_note(&format!(
                    "it was answered before: by {}",
                    ended.resolved_by
                ));
                // A denial in this terminal applies even after an approval elsewhere: nothing has
                // run yet.
                if matches!(response, ApprovalResponse::Approved { .. }) {
                    return self.outcome_of_resolution(ended);
                }
            }
            Ok(AnswerResult::Accepted(_) | AnswerResult::GrantFailed(_)) => {}
            Err(error) => {
                user_messages::print_note(&format!("the others do not see this answer: {error}"));
                if is_project_grant(&response) && !kept {
                    save_grant(grants, request, &response);
                }
            }
        }
        ReviewOutcome::Answered { response, channel: AnswerChannel::Terminal, answered_by: None }
    }
}
