//! Requests that wait for an answer.

use openoxide_protocol::{AbsPath, ApprovalRequest, OperationDigest};

use super::process_identity::ProcessIdentity;
use crate::audit::UtcTimestamp;

/// A request that the requester registers.
#[derive(Clone, Copy, Debug)]
pub struct NewRequest<'a> {
    /// The approval request.
    pub request: &'a ApprovalRequest,
    /// The requester: the name of an agent, or `person`.
    pub requester: &'a str,
    /// The project that an approval for the project is saved in. `None` if grants are not
    /// available.
    pub project: Option<&'a AbsPath>,
    /// The identity of the process of the agent that asks, if it is known.
    pub client: Option<&'a str>,
    /// The time at which the request expires. `None` if it stays pending as long as the requester
    /// exists.
    pub expires_at: Option<UtcTimestamp>,
}

/// A request that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRequest {
    /// The approval request.
    pub request: ApprovalRequest,
    /// The SHA-256 of exactly the content that is shown: the request, the requester, and the
    /// project.
    pub shown_digest: OperationDigest,
    /// The requester.
    pub requester: String,
    /// The process that waits for the answer, if it is known.
    pub process: Option<ProcessIdentity>,
    /// The process of the agent that asks, if it is known.
    pub client: Option<ProcessIdentity>,
    /// The project that an approval for the project is saved in.
    pub project: Option<AbsPath>,
    /// The time at which the request was registered.
    pub asked_at: UtcTimestamp,
    /// The time at which the request expires, if it does.
    pub expires_at: Option<UtcTimestamp>,
    /// The number of characters of its id that identify it.
    pub unique_prefix_len: usize,
}
