//! Pending requests, in a place where every process of this user finds them.
//!
//! The requester registers its request and checks it from time to time. A reviewer can answer from
//! any terminal. There is no process between them; they communicate through the database. Each
//! request is answered once, and the answer is bound to the content that was shown.
//!
//! The data is as safe as the state directory. Anyone who can write there can answer. Anyone who
//! can read the key in the same directory could forge any proof, so no proof is made. The safety
//! floor asks about commands that write there.

mod database_file;
mod error;
mod process_identity;
mod schema;
mod sqlite;

use openoxide_protocol::{
    AbsPath, ApprovalId, ApprovalRequest, ApprovalResponse, OperationDigest, ResolutionKind,
};
use serde::{Deserialize, Serialize};

pub use error::RequestError;
pub use process_identity::ProcessIdentity;
pub use sqlite::SqliteRequestStore;

use crate::audit::UtcTimestamp;

/// A request, as its asker registers it.
#[derive(Clone, Copy, Debug)]
pub struct NewRequest<'a> {
    /// The approval request.
    pub request: &'a ApprovalRequest,
    /// The requester: an agent's name, or `person`.
    pub requester: &'a str,
    /// The project that an approval for the project is saved in; `None` if grants are not
    /// available.
    pub project: Option<&'a AbsPath>,
    /// The time at which the request expires; `None` if it stays pending as long as the requester
    /// exists.
    pub expires_at: Option<UtcTimestamp>,
}

/// A request that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// The approval request.
    pub request: ApprovalRequest,
    /// The SHA-256 of exactly the content that is shown: the request, the requester, and the
    /// project.
    pub shown_digest: OperationDigest,
    /// The requester.
    pub requester: String,
    /// The project that an approval for the project is saved in.
    pub project: Option<AbsPath>,
    /// Since when it waits.
    pub asked_at: UtcTimestamp,
    /// Until when.
    pub expires_at: Option<UtcTimestamp>,
    /// The number of characters of its id that identify it.
    pub unique_prefix_len: usize,
}

/// The way in which a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum RequestResolutionKind {
    /// A reviewer answered it, or another one so that it ended, too.
    Resolved {
        /// The kind of resolution.
        kind: ResolutionKind,
        /// The answer.
        response: ApprovalResponse,
    },
    /// The request was not answered in time.
    Expired,
    /// Its asker took it back.
    Withdrawn,
    /// Its asker is gone.
    Abandoned,
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResolution {
    /// The way in which the request ended.
    pub kind: RequestResolutionKind,
    /// A description of who ended the request.
    pub resolved_by: String,
    /// The time at which the request ended.
    pub resolved_at: UtcTimestamp,
}

/// The result of looking up the beginning of an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdLookup {
    /// No known request. A request is forgotten one day after it ended.
    NotFound,
    /// A request that waits.
    Pending(Box<PendingRequest>),
    /// A request that has ended.
    Resolved(ApprovalId, RequestResolution),
    /// More than one; here are some of them.
    Ambiguous(Vec<ApprovalId>),
}

/// The result of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// The answer was accepted. Contains the number of other requests that ended with it.
    Accepted(usize),
    /// The request had ended before.
    AlreadyResolved(RequestResolution),
    /// The grant could not be saved, so the request was not answered.
    GrantFailed(String),
}

/// The meeting place of those who ask and those who answer.
pub trait RequestStore {
    /// Registers a pending request on behalf of the current process.
    ///
    /// # Errors
    /// Returns an error if the request could not be written. It cannot be answered here then.
    fn register(&mut self, asking: &NewRequest<'_>) -> Result<OperationDigest, RequestError>;

    /// Ends the requests that have expired, and those whose process has exited.
    ///
    /// # Errors
    /// Returns an error if this could not be written.
    fn resolve_stale(&mut self) -> Result<(), RequestError>;

    /// Returns the pending requests, oldest first. An error among them means one damaged
    /// request.
    ///
    /// # Errors
    /// Returns an error if nothing can be read.
    fn list_pending(&mut self) -> Result<Vec<Result<PendingRequest, RequestError>>, RequestError>;

    /// Looks up a request by the beginning of its id.
    ///
    /// # Errors
    /// Returns an error if the request cannot be read, or if its content differs from what was
    /// registered.
    fn lookup_id(&mut self, beginning: &str) -> Result<IdLookup, RequestError>;

    /// Answers a request if it is still pending and has the content that was shown. A rejection or
    /// a cancellation also ends all other requests of its session. An approval for the session also
    /// ends the requests of the session that ask for exactly the same operation and do not require
    /// an explicit approval.
    ///
    /// `keep` saves the grant of an approval for the project. It is called while no other process
    /// can answer, and before the approval takes effect. If it fails, the request is not answered.
    ///
    /// # Errors
    /// Returns an error if the answer could not be written, or if the pending request differs from
    /// what was shown. The request is not answered then.
    fn answer(
        &mut self,
        waiting: (ApprovalId, OperationDigest),
        response: &ApprovalResponse,
        by: &str,
        keep: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<AnswerResult, RequestError>;

    /// Ends a request without a reviewer. Returns whether it was still pending.
    ///
    /// # Errors
    /// Returns an error if this could not be written.
    fn resolve(
        &mut self,
        id: ApprovalId,
        ending: &RequestResolutionKind,
        by: &str,
    ) -> Result<bool, RequestError>;

    /// Returns the resolution of a request, if it has ended.
    ///
    /// # Errors
    /// Returns an error if the request cannot be read, if it no longer exists, or if the answer was
    /// given to something other than `shown`.
    fn find_resolution(
        &mut self,
        id: ApprovalId,
        shown: OperationDigest,
    ) -> Result<Option<RequestResolution>, RequestError>;

    /// Returns whether another connection has written to the store since the last call. This costs
    /// almost nothing.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn has_changed(&mut self) -> Result<bool, RequestError>;
}

#[cfg(test)]
mod tests;
