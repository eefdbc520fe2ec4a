//! Requests that wait for an answer, where every process of this user finds them.
//!
//! Who asks registers its request and looks from time to time; who answers does so from any terminal. There is no process
//! between them: the data base is the meeting place. Each request is answered once, and the answer is bound to what was shown.
//!
//! What is kept here is as safe as the directory of the state: who can write there can answer, and who can read the key that
//! lies beside it could forge any proof, so none is made. The safety floor asks about commands that write there.

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
    /// What is asked.
    pub request: &'a ApprovalRequest,
    /// Who asks: an agent's name, or `person`.
    pub requester: &'a str,
    /// The project whose grants a lasting yes goes to; none where grants do not count.
    pub project: Option<&'a AbsPath>,
    /// When nobody waits any longer; none as long as the asker lives.
    pub expires_at: Option<UtcTimestamp>,
}

/// A request that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// What is asked.
    pub request: ApprovalRequest,
    /// The SHA-256 of exactly what is shown: the request, who asks, and the project.
    pub shown_digest: OperationDigest,
    /// Who asks.
    pub requester: String,
    /// The project whose grants a lasting yes goes to.
    pub project: Option<AbsPath>,
    /// Since when it waits.
    pub asked_at: UtcTimestamp,
    /// Until when.
    pub expires_at: Option<UtcTimestamp>,
    /// So many letters of its id name it.
    pub unique_prefix_len: usize,
}

/// How a request ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ending", rename_all = "snake_case")]
pub enum RequestResolutionKind {
    /// A reviewer answered it, or another one so that it ended, too.
    Resolved {
        /// Which of these.
        kind: ResolutionKind,
        /// The answer.
        response: ApprovalResponse,
    },
    /// Nobody answered in time.
    Expired,
    /// Its asker took it back.
    Withdrawn,
    /// Its asker is gone.
    Abandoned,
}

/// The end of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestResolution {
    /// How.
    pub kind: RequestResolutionKind,
    /// Who ended it, in words.
    pub resolved_by: String,
    /// When.
    pub resolved_at: UtcTimestamp,
}

/// What a beginning of an id names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IdLookup {
    /// Nothing that is known; what ended a day ago is forgotten.
    NotFound,
    /// A request that waits.
    Pending(Box<PendingRequest>),
    /// A request that has ended.
    Resolved(ApprovalId, RequestResolution),
    /// More than one; here are some of them.
    Ambiguous(Vec<ApprovalId>),
}

/// What became of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerResult {
    /// It counts. So many other requests ended with it.
    Accepted(usize),
    /// The request had ended before.
    AlreadyResolved(RequestResolution),
    /// It could not be made to last, and so nothing was answered.
    GrantFailed(String),
}

/// The meeting place of those who ask and those who answer.
pub trait RequestStore {
    /// Lets a request wait, on behalf of this very process.
    ///
    /// # Errors
    /// When it could not be written down. Then nobody can answer it here.
    fn register(&mut self, asking: &NewRequest<'_>) -> Result<OperationDigest, RequestError>;

    /// Ends what nobody waits for: what has expired, and what was asked by a process that is gone.
    ///
    /// # Errors
    /// When that could not be written down.
    fn resolve_stale(&mut self) -> Result<(), RequestError>;

    /// Returns what waits, oldest first. An error among them is one request that cannot be relied on.
    ///
    /// # Errors
    /// When nothing can be read.
    fn list_pending(&mut self) -> Result<Vec<Result<PendingRequest, RequestError>>, RequestError>;

    /// Returns what a beginning of an id names.
    ///
    /// # Errors
    /// When it cannot be read, or its content is not what was registered.
    fn lookup_id(&mut self, beginning: &str) -> Result<IdLookup, RequestError>;

    /// Answers a request, if it still waits and is what was shown. A rejection and a cancellation end all others of its session,
    /// too; a yes for the session ends those of the session that ask for exactly the same and demand no yes of their own.
    ///
    /// `keep` makes a lasting yes last. It is called while nobody else can answer and before the yes counts; what it cannot keep
    /// is not answered.
    ///
    /// # Errors
    /// When it could not be written down, or what waits is not what was shown. Then nothing was answered.
    fn answer(
        &mut self,
        waiting: (ApprovalId, OperationDigest),
        response: &ApprovalResponse,
        by: &str,
        keep: &mut dyn FnMut() -> Result<(), String>,
    ) -> Result<AnswerResult, RequestError>;

    /// Ends a request without a reviewer, and says whether it still waited.
    ///
    /// # Errors
    /// When that could not be written down.
    fn resolve(
        &mut self,
        id: ApprovalId,
        ending: &RequestResolutionKind,
        by: &str,
    ) -> Result<bool, RequestError>;

    /// Returns the end of a request, if it has ended.
    ///
    /// # Errors
    /// When it cannot be read, or is no longer there, or what was answered is not what was `shown`.
    fn find_resolution(
        &mut self,
        id: ApprovalId,
        shown: OperationDigest,
    ) -> Result<Option<RequestResolution>, RequestError>;

    /// Says whether somebody else wrote something since this was last asked. It costs next to nothing.
    ///
    /// # Errors
    /// When it cannot be read.
    fn has_changed(&mut self) -> Result<bool, RequestError>;
}

#[cfg(test)]
mod tests;
