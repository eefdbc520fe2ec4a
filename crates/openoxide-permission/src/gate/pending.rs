//! The requests that wait for an answer, oldest first.

use openoxide_protocol::{ApprovalId, ApprovalRequest, SessionId};

use super::Question;

/// The waiting line. It is short: a linear search is fine.
#[derive(Debug, Default)]
pub(super) struct Pending(Vec<(Question, ApprovalRequest)>);

impl Pending {
    pub(super) fn add(&mut self, question: Question, request: ApprovalRequest) {
        self.0.push((question, request));
    }

    pub(super) fn take(&mut self, id: ApprovalId) -> Option<(Question, ApprovalRequest)> {
        let at = self.0.iter().position(|(_, request)| request.id == id)?;
        Some(self.0.remove(at))
    }

    pub(super) fn of(
        &self,
        session: SessionId,
    ) -> impl Iterator<Item = &(Question, ApprovalRequest)> {
        self.0.iter().filter(move |(_, request)| request.session == session)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ApprovalRequest> {
        self.0.iter().map(|(_, request)| request)
    }
}
