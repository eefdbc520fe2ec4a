//! The interface of a request store, independent of its storage.

use openoxide_protocol::{ApprovalId, ApprovalResponse, OperationDigest};

use super::{
    error::RequestStoreError,
    pending_request::{NewRequest, PendingRequest},
    request_resolution::{RequestResolution, RequestResolutionKind},
};

/// The result of looking up the prefix of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdLookup {
    /// No request with this prefix. A request is deleted one day after it ended.
    NotFound,
    /// A pending request.
    Pending(Box<PendingRequest>),
    /// A request that has ended.
    Resolved(ApprovalId, RequestResolution),
    /// More than one request. Contains some of their ids.
    Ambiguous(Vec<ApprovalId>),
}

/// The result of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// The answer was accepted. Contains the number of other requests that ended with it.
    Accepted(usize),
    /// The request had already ended.
    AlreadyResolved(RequestResolution),
    /// The grant could not be saved, so the request was not answered.
    GrantFailed,
}

/// A store of the requests of one user, shared by the processes that ask and those that answer.
pub trait RequestStore {
    /// Registers a pending request on behalf of the current process.
    ///
    /// # Errors
    /// Returns an error if the request could not be written. It cannot be answered here then.
    fn register(&mut self, asking: &NewRequest<'_>) -> Result<OperationDigest, RequestStoreError>;

    /// Ends the requests that have expired, and those whose process has exited.
    ///
    /// # Errors
    /// Returns an error if this could not be written.
    fn resolve_stale(&mut self) -> Result<(), RequestStoreError>;

    /// Returns the pending requests, oldest first. An error among them means one damaged
    /// request.
    ///
    /// # Errors
    /// Returns an error if nothing can be read.
    fn list_pending(
        &mut self,
    ) -> Result<Vec<Result<PendingRequest, RequestStoreError>>, RequestStoreError>;

    /// Looks up a request by a prefix of its id.
    ///
    /// # Errors
    /// Returns an error if the request cannot be read, or if its content differs from what was
    /// registered.
    fn lookup_id(&mut self, beginning: &str) -> Result<IdLookup, RequestStoreError>;

    /// Answers a request if it is still pending and has the content that was shown. A rejection or
    /// a cancellation also ends all other requests of its session. An approval for the session also
    /// ends the requests of the session that ask for exactly the same operation and do not require
    /// an explicit approval.
    ///
    /// `save_grant` saves the grant of an approval for the project, and returns whether it did. It
    /// is called while no other process can answer, and before the approval takes effect. If it
    /// fails, the request is not answered.
    ///
    /// # Errors
    /// Returns an error if the answer could not be written, or if the pending request differs from
    /// what was shown. The request is not answered then.
    fn answer(
        &mut self,
        waiting: (ApprovalId, OperationDigest),
        response: &ApprovalResponse,
        by: &str,
        save_grant: &mut dyn FnMut() -> bool,
    ) -> Result<AnswerResult, RequestStoreError>;

    /// Ends a request without a reviewer. Returns whether it was still pending.
    ///
    /// # Errors
    /// Returns an error if this could not be written.
    fn resolve(
        &mut self,
        id: ApprovalId,
        ending: &RequestResolutionKind,
        by: &str,
    ) -> Result<bool, RequestStoreError>;

    /// Returns the resolution of a request, if it has ended.
    ///
    /// # Errors
    /// Returns an error if the request cannot be read, if it no longer exists, or if the answer was
    /// given to something other than `shown`.
    fn find_resolution(
        &mut self,
        id: ApprovalId,
        shown: OperationDigest,
    ) -> Result<Option<RequestResolution>, RequestStoreError>;

    /// Returns whether another connection has written to the store since the last call. This costs
    /// almost nothing.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn has_changed(&mut self) -> Result<bool, RequestStoreError>;
}
