//! The decision about a connection to a socket of the host: granted, or reviewed.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use openoxide_protocol::SocketAccess;

use crate::{
    interface::{RuntimeDecision, SandboxDenial},
    runtime_reviews::{DenialLog, ReviewCoordinator, ReviewOutcome},
};

/// The time that a person has to answer.
const REVIEW_TIMEOUT: Duration = Duration::from_secs(60);
/// The maximum number of open reviews.
const MAX_OPEN_REVIEWS: usize = 8;

/// The sockets that are permitted, and the reviewer of others.
pub(crate) struct SocketPermissions {
    granted: BTreeSet<SocketAccess>,
    reviews: Option<Arc<ReviewCoordinator<SocketAccess>>>,
    denials: Arc<DenialLog>,
}

/// A function that asks a reviewer about a connection. Its second argument returns true once the
/// answer is not needed any more.
pub(crate) type AskAboutSocket =
    Box<dyn Fn(&SocketAccess, &dyn Fn() -> bool) -> RuntimeDecision + Send + Sync>;

impl SocketPermissions {
    /// Creates permissions. The accesses in `granted` are permitted. Others are refused if `ask` is
    /// `None`.
    pub(crate) fn new(
        granted: BTreeSet<SocketAccess>,
        denials: Arc<DenialLog>,
        ask: Option<AskAboutSocket>,
    ) -> Self {
        let reviews = ask.map(|ask| ReviewCoordinator::new(ask, REVIEW_TIMEOUT, MAX_OPEN_REVIEWS));
        Self { granted, reviews, denials }
    }

    /// Returns whether an access is granted or a reviewer approves it.
    pub(super) fn is_permitted(
        &self,
        access: &SocketAccess,
        is_waiting: impl Fn() -> bool,
    ) -> bool {
        if self.granted.contains(access) {
            return true;
        }
        let Some(reviews) = &self.reviews else { return false };
        let outcome = reviews.review(access, is_waiting);
        self.denials.record_outcome(outcome);
        outcome == ReviewOutcome::Approved
    }

    pub(super) fn record_denial(&self, denial: SandboxDenial) {
        self.denials.record(denial);
    }
}
