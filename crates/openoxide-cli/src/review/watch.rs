//! One registered request, and everything that may end it.

use openoxide_engine::{GrantUse, ReviewEnd};
use openoxide_protocol::{
    ApprovalId, ApprovalRequest, ApprovalResponse, Digest, GrantScope, ResolutionKind,
};
use openoxide_store::{
    Answering, Asking, Ended, Ending, Environment, Requests, SqliteRequests,
    audit::{Channel, Moment},
};

use super::{Review, is_lasting, keep, settled, signals::Signals};
use crate::report;

const YES: ApprovalResponse = ApprovalResponse::approved(GrantScope::Once);

/// A request that waits in the data base.
pub(super) struct Watch<'a> {
    review: &'a Review<'a>,
    requests: Box<dyn Requests>,
    signals: Signals,
    id: ApprovalId,
    shown: Digest,
    explicit: bool,
    expires_at: Option<Moment>,
}

impl<'a> Watch<'a> {
    /// Registers a request. An answer that comes before the first look is seen by it.
    pub(super) fn open(review: &'a Review<'a>, request: &ApprovalRequest) -> Result<Self, String> {
        let wait = review.wait.map(|seconds| u64::from(seconds) * 1_000);
        let expires_at = wait.map(|wait| Moment(Moment::now().0.saturating_add(wait)));
        let project = review.engine.grants().map(openoxide_store::GrantFile::project);
        let asking = Asking { request, who: "person", project, expires_at };
        let mut requests =
            SqliteRequests::open(&Environment::read()).map_err(|error| error.to_string())?;
        // Listened for before the request is there: nobody is left waiting who could have been told.
        let signals = Signals::listen();
        let shown = requests.register(&asking).map_err(|error| error.to_string())?;
        let requests = Box::new(requests);
        let (id, explicit) = (request.id, request.explicit_yes_required);
        Ok(Self { review, requests, signals, id, shown, explicit, expires_at })
    }

    /// Returns the end, if it has come.
    pub(super) fn look(&mut self) -> Option<ReviewEnd> {
        if self.signals.came() {
            return Some(self.withdraw(ReviewEnd::Interrupted));
        }
        if self.review.gone.is_some_and(|gone| gone()) {
            return Some(
                self.withdraw(ReviewEnd::Lost("the program that waited has ended".to_owned())),
            );
        }
        match self.requests.changed() {
            Ok(true) => self.news(),
            Ok(false) => None,
            Err(error) => Some(ReviewEnd::Lost(error.to_string())),
        }
        .or_else(|| self.out_of_time())
    }

    /// Somebody wrote something: an answer, or a grant that covers this, too.
    fn news(&mut self) -> Option<ReviewEnd> {
        match self.requests.ended(self.id, self.shown) {
            Ok(Some(ended)) => Some(self.taken(ended)),
            Ok(None) => self.granted(),
            Err(error) => Some(ReviewEnd::Lost(error.to_string())),
        }
    }

    /// Takes an answer that was given elsewhere. A deny that holds by now is final, whatever was said.
    fn taken(&self, ended: Ended) -> ReviewEnd {
        let by = Some(ended.by);
        match ended.ending {
            Ending::Resolved { response, .. }
                if matches!(response, ApprovalResponse::Approved { .. }) =>
            {
                match self.review.decision_now(GrantUse::Keep) {
                    Ok(decision) if settled(&decision) == Some(false) => {
                        ReviewEnd::Denied(Box::new(decision))
                    }
                    Ok(_) => ReviewEnd::Answered { response, channel: Channel::Command, by },
                    Err(error) => ReviewEnd::Lost(error.to_string()),
                }
            }
            Ending::Resolved { response, .. } => {
                ReviewEnd::Answered { response, channel: Channel::Command, by }
            }
            Ending::Expired => ReviewEnd::Expired,
            Ending::Withdrawn | Ending::Abandoned => {
                ReviewEnd::Lost("the request was withdrawn elsewhere".to_owned())
            }
        }
    }

    /// Ends the request with what the policy says by now, if that is no question any more. A yes of its own stays needed.
    fn granted(&mut self) -> Option<ReviewEnd> {
        let decision = self.review.decision_now(GrantUse::Spend).ok()?;
        let (ending, end) = match settled(&decision)? {
            // A hook's question is not the policy's to answer.
            true if self.explicit => return None,
            true => {
                let kind = ResolutionKind::Retroactive;
                let (channel, by) = (Channel::Command, Some(decision.reason));
                let end = ReviewEnd::Answered { response: YES, channel, by };
                (Ending::Resolved { kind, response: YES }, end)
            }
            false => (Ending::Withdrawn, ReviewEnd::Denied(Box::new(decision))),
        };
        Some(self.end(&ending, "the policy", end))
    }

    fn out_of_time(&mut self) -> Option<ReviewEnd> {
        let late = self.expires_at.is_some_and(|at| at <= Moment::now());
        late.then(|| self.end(&Ending::Expired, "the clock", ReviewEnd::Expired))
    }

    /// Stops waiting. Who was told to end while the yes came runs nothing.
    pub(super) fn close(self, end: ReviewEnd) -> ReviewEnd {
        if self.signals.stop() { ReviewEnd::Interrupted } else { end }
    }

    /// Takes the request back. That it could not be written down changes nothing: who looks next sees that nobody waits.
    pub(super) fn withdraw(&mut self, end: ReviewEnd) -> ReviewEnd {
        drop(self.requests.end(self.id, &Ending::Withdrawn, "who asked"));
        end
    }

    /// Ends the request, unless somebody was quicker: then that counts.
    fn end(&mut self, ending: &Ending, by: &str, end: ReviewEnd) -> ReviewEnd {
        match self.requests.end(self.id, ending, by) {
            Ok(true) => end,
            Ok(false) => self.first(),
            Err(error) => ReviewEnd::Lost(error.to_string()),
        }
    }

    /// Returns the end that came before ours.
    fn first(&mut self) -> ReviewEnd {
        match self.requests.ended(self.id, self.shown) {
            Ok(Some(ended)) => self.taken(ended),
            Ok(None) => ReviewEnd::Lost("the request was lost".to_owned()),
            Err(error) => ReviewEnd::Lost(error.to_string()),
        }
    }

    /// Takes what was said in this terminal, unless somebody was quicker. Whatever the data base does, a person said it.
    pub(super) fn settle(
        &mut self,
        request: &ApprovalRequest,
        response: ApprovalResponse,
    ) -> ReviewEnd {
        let grants = self.review.engine.grants();
        let mut kept = false;
        let mut once = || {
            kept = true;
            keep(grants, request, &response);
            Ok(())
        };
        let answered =
            self.requests.answer((self.id, self.shown), &response, "the prompt", &mut once);
        match answered {
            Ok(Answering::TooLate(ended)) => {
                report::note(&format!("it was answered before: by {}", ended.by));
                // A no here is one, even if somebody was quicker with a yes: nothing has run yet.
                if matches!(response, ApprovalResponse::Approved { .. }) {
                    return self.taken(ended);
                }
            }
            Ok(Answering::Counts(_) | Answering::NotKept(_)) => {}
            Err(error) => {
                report::note(&format!("the others do not see this answer: {error}"));
                if is_lasting(&response) && !kept {
                    keep(grants, request, &response);
                }
            }
        }
        ReviewEnd::Answered { response, channel: Channel::Terminal, by: None }
    }
}
