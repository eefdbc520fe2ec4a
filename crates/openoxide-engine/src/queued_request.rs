//! An approval request in the request store, until its first answer: from a reviewer of this
//! process, from another process, or from the policy once it has changed.

use std::{fmt, time::Duration};

use openoxide_protocol::{
    Access, ApprovalRequest, ApprovalResponse, Decision, Effect, GrantScope, OperationDigest,
    OperationFacts, ResolutionKind,
};
use openoxide_store::{
    AnswerResult, GrantFile, NewRequest, RequestResolution, RequestResolutionKind, RequestStore,
    RequestStoreError, SqliteRequestStore,
    audit::{AnswerChannel, UtcTimestamp},
};

use crate::{
    check_host::{CheckHost, InterruptWatch},
    engine_warning::EngineWarning,
    error::EngineOpenError,
    grant_saving::save_approved_rules,
    limited_grants::GrantUseMode,
    operation_check::PendingApproval,
    review_record::{ReviewOutcome, ReviewRecord, WaitError},
    reviewer::{ReviewStatus, Reviewer},
};

/// The interval between two checks for an answer. Each check reads one number of shared memory: a
/// delay of 50 ms is not noticeable, and the cost of twenty checks per second is not measurable.
/// Notifications (inotify) would need another dependency and a database that never moves.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(50);

const APPROVED_ONCE: ApprovalResponse = ApprovalResponse::new_approval(GrantScope::Once);

/// The options of a wait for an answer.
#[derive(Clone, Copy)]
pub struct WaitOptions<'a> {
    /// The requester, as reviewers see it: an agent's name, or `person`.
    pub requester: &'a str,
    /// The identity of the process of the agent that asks, if it is known. Programs that this
    /// process started cannot approve the request.
    pub client: Option<&'a str>,
    /// The time after which the request expires; `None` if it stays pending as long as this
    /// process waits.
    pub timeout: Option<Duration>,
    /// Returns true when the answer is no longer needed. The request then ends.
    pub is_abandoned: Option<&'a dyn Fn() -> bool>,
}

impl fmt::Debug for WaitOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requester, client, timeout, is_abandoned: _ } = self;
        f.debug_struct("WaitOptions")
            .field("requester", requester)
            .field("client", client)
            .field("timeout", timeout)
            .finish_non_exhaustive()
    }
}

/// An approval request that waits in the request store.
///
/// The first answer applies. An approval is checked against the current policy, and does not apply
/// if the operation has other accesses or findings by then than those that the request shows. A
/// request that is dropped before it ends is withdrawn.
#[must_use]
pub struct QueuedRequest<'p> {
    approval: &'p PendingApproval<'p>,
    options: WaitOptions<'p>,
    host: &'p dyn CheckHost,
    store: Box<dyn RequestStore>,
    interrupts: Box<dyn InterruptWatch + 'p>,
    digest: OperationDigest,
    expires_at: Option<UtcTimestamp>,
    is_ended: bool,
}

impl fmt::Debug for QueuedRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuedRequest")
            .field("request", self.request())
            .field("options", &self.options)
            .field("expires_at", &self.expires_at)
            .finish_non_exhaustive()
    }
}

impl PendingApproval<'_> {
    /// Registers the request, so that other processes can answer it. An answer that comes before
    /// the first check is found by that check.
    ///
    /// # Errors
    /// Returns an error if the request could not be written. Only this process can answer it then:
    /// see [`Self::review`].
    pub fn register<'p>(
        &'p self,
        options: WaitOptions<'p>,
        host: &'p dyn CheckHost,
    ) -> Result<QueuedRequest<'p>, RequestStoreError> {
        let engine = self.engine();
        let wait = options.timeout.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let expires_at = wait.map(|wait| UtcTimestamp(UtcTimestamp::now().0.saturating_add(wait)));
        let (request, project) = (self.request(), engine.grant_file().map(GrantFile::project));
        let WaitOptions { requester, client, .. } = options;
        let asking = NewRequest { request, requester, project, client, expires_at };
        let mut store = SqliteRequestStore::open(engine.environment())?;
        // Interrupts are watched before the request is registered, so that none is missed while it
        // is pending.
        let interrupts = host.watch_interrupts();
        let digest = store.register(&asking)?;
        Ok(QueuedRequest {
            approval: self,
            options,
            host,
            store: Box::new(store),
            interrupts,
            digest,
            expires_at,
            is_ended: false,
        })
    }

    /// Applies the answer of a reviewer of this process to a request that is not registered. The
    /// rules of an approval for the project are saved first; if that fails, it applies once.
    #[must_use]
    pub fn review(
        &self,
        response: ApprovalResponse,
        channel: AnswerChannel,
        host: &dyn CheckHost,
    ) -> ReviewRecord {
        if is_approval(&response)
            && let Some(outcome) = self.obstacle_to_approval(host)
        {
            return self.review_record(outcome);
        }
        if is_project_grant(&response) {
            self.save_grant(&response, host);
        }
        self.review_record(ReviewOutcome::Answered { response, channel, answered_by: None })
    }

    /// Returns the record of a review that failed, so that the request has no answer.
    #[must_use]
    pub fn failed_review_record(&self, error: WaitError) -> ReviewRecord {
        self.review_record(ReviewOutcome::Failed(error))
    }

    /// Returns the outcome of an approval that does not apply: the policy now denies the operation,
    /// or the operation would do more than the request shows.
    fn obstacle_to_approval(&self, host: &dyn CheckHost) -> Option<ReviewOutcome> {
        match self.current_decision(GrantUseMode::Preview, host) {
            Ok(decision) if decision.effect == Effect::Deny => {
                Some(ReviewOutcome::Denied(Box::new(decision)))
            }
            Ok(_) => {
                let added = first_addition(self.checked_facts(), &self.current_facts())?;
                Some(ReviewOutcome::Failed(WaitError::OperationChanged(added)))
            }
            Err(error) => Some(ReviewOutcome::Failed(error.into())),
        }
    }

    /// Returns the current decision of the policy. A grant or a deny may have been added since the
    /// request was made.
    fn current_decision(
        &self,
        usage: GrantUseMode,
        host: &dyn CheckHost,
    ) -> Result<Decision, EngineOpenError> {
        self.engine().reevaluate(self.operation(), &self.current_facts(), usage, host)
    }

    pub(crate) fn review_record(&self, outcome: ReviewOutcome) -> ReviewRecord {
        let can_save_grant = self.engine().grant_file().is_some();
        ReviewRecord { request: self.request().clone(), outcome, can_save_grant }
    }

    /// Saves the chosen rules before the approval takes effect. If saving fails, the approval
    /// applies once.
    fn save_grant(&self, response: &ApprovalResponse, host: &dyn CheckHost) {
        let saved = save_approved_rules(self.engine().grant_file(), self.request(), response);
        if let Err(error) = saved {
            host.warn(EngineWarning::GrantNotSaved(error));
        }
    }
}

impl QueuedRequest<'_> {
    /// Returns the request, as reviewers see it.
    #[must_use]
    pub const fn request(&self) -> &ApprovalRequest {
        self.approval.request()
    }

    /// Waits until another process answers, or the request ends in another way.
    #[must_use]
    pub fn wait(mut self) -> ReviewRecord {
        loop {
            if let Some(review) = self.poll() {
                return review;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Waits until the reviewer or another process answers, or the request ends in another way.
    #[must_use]
    pub fn wait_with(mut self, reviewer: &mut dyn Reviewer) -> ReviewRecord {
        reviewer.open(self.request());
        loop {
            let outcome = match reviewer.poll_answer(POLL_INTERVAL) {
                ReviewStatus::Answered(response) => {
                    self.submit(response, reviewer.channel(), reviewer.name())
                }
                ReviewStatus::Unreachable => {
                    let (response, channel) = (ApprovalResponse::Cancelled, reviewer.channel());
                    self.withdraw(ReviewOutcome::Answered { response, channel, answered_by: None })
                }
                ReviewStatus::Closed => self.withdraw(ReviewOutcome::Interrupted),
                ReviewStatus::Pending => match self.poll_outcome() {
                    Some(outcome) => {
                        reviewer.close(&outcome);
                        outcome
                    }
                    None => continue,
                },
            };
            return self.end(outcome);
        }
    }

    /// Checks once, without waiting, whether the request has ended: for programs with an event loop
    /// of their own.
    pub fn poll(&mut self) -> Option<ReviewRecord> {
        let outcome = self.poll_outcome()?;
        Some(self.end(outcome))
    }

    /// Applies the answer of a reviewer of this process. An approval does not apply if the request
    /// was answered before.
    #[must_use]
    pub fn answer(
        mut self,
        response: ApprovalResponse,
        channel: AnswerChannel,
        name: &str,
    ) -> ReviewRecord {
        let outcome = self.submit(response, channel, name);
        self.end(outcome)
    }

    /// Returns the outcome, if the request has ended.
    fn poll_outcome(&mut self) -> Option<ReviewOutcome> {
        if self.interrupts.is_interrupted() {
            return Some(self.withdraw(ReviewOutcome::Interrupted));
        }
        if self.options.is_abandoned.is_some_and(|is_abandoned| is_abandoned()) {
            return Some(self.withdraw(ReviewOutcome::Failed(WaitError::Abandoned)));
        }
        match self.store.has_changed() {
            Ok(true) => self.check_changes(),
            Ok(false) => None,
            Err(error) => Some(ReviewOutcome::Failed(error.into())),
        }
        .or_else(|| self.check_expiry())
    }

    /// Checks a change of the store: an answer, or a grant that covers this request.
    fn check_changes(&mut self) -> Option<ReviewOutcome> {
        match self.store.find_resolution(self.request().id, self.digest) {
            Ok(Some(ended)) => Some(self.resolution_outcome(ended)),
            Ok(None) => self.check_current_policy(),
            Err(error) => Some(ReviewOutcome::Failed(error.into())),
        }
    }

    /// Returns the outcome of an answer that another process gave.
    fn resolution_outcome(&self, ended: RequestResolution) -> ReviewOutcome {
        let response = match ended.kind {
            RequestResolutionKind::Resolved { response, .. } => response,
            RequestResolutionKind::Expired => return ReviewOutcome::Expired,
            RequestResolutionKind::Withdrawn | RequestResolutionKind::Abandoned => {
                return ReviewOutcome::Failed(WaitError::Withdrawn);
            }
        };
        if is_approval(&response)
            && let Some(outcome) = self.approval.obstacle_to_approval(self.host)
        {
            return outcome;
        }
        let (channel, answered_by) = (AnswerChannel::Command, Some(ended.resolved_by));
        ReviewOutcome::Answered { response, channel, answered_by }
    }

    /// Ends the request if the policy now decides it. A request that needs explicit approval cannot
    /// be approved in this way.
    fn check_current_policy(&mut self) -> Option<ReviewOutcome> {
        let decision = self.approval.current_decision(GrantUseMode::Spend, self.host).ok()?;
        let (ending, outcome) = match decision.effect {
            Effect::Ask => return None,
            // The policy cannot answer a question of a hook.
            Effect::Allow if self.request().requires_explicit_approval => return None,
            Effect::Allow => {
                let (response, kind) = (APPROVED_ONCE, ResolutionKind::Retroactive);
                let (channel, answered_by) = (AnswerChannel::Policy, Some(decision.reason));
                (
                    RequestResolutionKind::Resolved { kind, response: APPROVED_ONCE },
                    ReviewOutcome::Answered { response, channel, answered_by },
                )
            }
            Effect::Deny => {
                (RequestResolutionKind::Withdrawn, ReviewOutcome::Denied(Box::new(decision)))
            }
        };
        Some(self.resolve(&ending, "the policy", outcome))
    }

    fn check_expiry(&mut self) -> Option<ReviewOutcome> {
        let is_late = self.expires_at.is_some_and(|at| at <= UtcTimestamp::now());
        is_late.then(|| {
            self.resolve(&RequestResolutionKind::Expired, "timeout", ReviewOutcome::Expired)
        })
    }

    /// Resolves the request. If it was resolved earlier, returns that outcome.
    fn resolve(
        &mut self,
        ending: &RequestResolutionKind,
        by: &str,
        outcome: ReviewOutcome,
    ) -> ReviewOutcome {
        match self.store.resolve(self.request().id, ending, by) {
            Ok(true) => outcome,
            Ok(false) => self.earlier_outcome(),
            Err(error) => ReviewOutcome::Failed(error.into()),
        }
    }

    fn earlier_outcome(&mut self) -> ReviewOutcome {
        match self.store.find_resolution(self.request().id, self.digest) {
            Ok(Some(ended)) => self.resolution_outcome(ended),
            Ok(None) => ReviewOutcome::Failed(WaitError::Lost),
            Err(error) => ReviewOutcome::Failed(error.into()),
        }
    }

    /// Submits the answer of a reviewer of this process, unless the request was answered before, or
    /// the answer is an approval that does not apply. The answer applies even if the store cannot be
    /// written.
    fn submit(
        &mut self,
        response: ApprovalResponse,
        channel: AnswerChannel,
        name: &str,
    ) -> ReviewOutcome {
        if is_approval(&response)
            && let Some(outcome) = self.approval.obstacle_to_approval(self.host)
        {
            return self.withdraw(outcome);
        }
        let (approval, host) = (self.approval, self.host);
        let mut is_saved = false;
        let mut save_once = || {
            is_saved = true;
            approval.save_grant(&response, host);
            true
        };
        let shown = (approval.request().id, self.digest);
        match self.store.answer(shown, &response, name, &mut save_once) {
            Ok(AnswerResult::AlreadyResolved(ended)) => {
                host.warn(EngineWarning::AlreadyAnswered(ended.resolved_by.clone()));
                // A denial here applies even after an approval elsewhere: nothing has run yet.
                if is_approval(&response) {
                    return self.resolution_outcome(ended);
                }
            }
            Ok(AnswerResult::Accepted(_) | AnswerResult::GrantFailed) => {}
            Err(error) => {
                host.warn(EngineWarning::AnswerNotShared(error));
                if is_project_grant(&response) && !is_saved {
                    approval.save_grant(&response, host);
                }
            }
        }
        ReviewOutcome::Answered { response, channel, answered_by: None }
    }

    /// Withdraws the request. A write error is ignored: other processes detect that this process no
    /// longer waits.
    fn withdraw(&mut self, outcome: ReviewOutcome) -> ReviewOutcome {
        let withdrawn = RequestResolutionKind::Withdrawn;
        drop(self.store.resolve(self.request().id, &withdrawn, "who asked"));
        outcome
    }

    /// Stops waiting. If an interrupt arrived together with the approval, nothing runs.
    fn end(&mut self, outcome: ReviewOutcome) -> ReviewRecord {
        self.is_ended = true;
        let is_interrupted = self.interrupts.stop();
        let outcome = if is_interrupted { ReviewOutcome::Interrupted } else { outcome };
        self.approval.review_record(outcome)
    }
}

impl Drop for QueuedRequest<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            self.withdraw(ReviewOutcome::Interrupted);
        }
    }
}

const fn is_approval(response: &ApprovalResponse) -> bool {
    matches!(response, ApprovalResponse::Approved { .. })
}

/// Returns an access or a finding that was added to the facts about an operation, in words.
fn first_addition(before: &OperationFacts, now: &OperationFacts) -> Option<String> {
    // Facts that did not change are in the same order.
    let is_added = |(index, access): &(usize, &Access)| {
        before.accesses.get(*index) != Some(access) && !before.accesses.contains(access)
    };
    let access = now.accesses.iter().enumerate().find(is_added).map(|(_, access)| access);
    let finding = || now.findings.iter().find(|finding| !before.findings.contains(finding));
    let describe = |access: &Access| {
        if let Access::Read(file) | Access::Edit(file) | Access::ExternalDirectory(file) = access
            && let Some(target) = &file.resolved
        {
            return target.to_string();
        }
        access.summary().to_owned()
    };
    access.map(describe).or_else(|| finding().map(|finding| finding.message.to_string()))
}

const fn is_project_grant(response: &ApprovalResponse) -> bool {
    matches!(response, ApprovalResponse::Approved { scope: GrantScope::Project, .. })
}

#[cfg(test)]
mod tests;
