//! The input and the result of a check by the gate.

use openoxide_protocol::{
    AbsPath, ApprovalId, ApprovalRequest, Decision, HookAnswer, Operation, OperationDigest,
    OperationFacts, RequestPresentation, Resolution,
};

use crate::session_grants::GrantKey;

/// The input of [`crate::PermissionGate::check`].
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The tool call.
    pub operation: Operation,
    /// The accesses and findings of the tool call.
    pub facts: OperationFacts,
    /// The digest that an approval is bound to.
    pub digest: OperationDigest,
    /// The id of the request, if a reviewer has to be asked.
    pub id: ApprovalId,
    /// The presentation for the reviewer.
    pub presentation: RequestPresentation,
    /// A one-line summary of the request.
    pub title: String,
    /// The name of the group. Requests of one group can be answered together.
    pub group: Option<String>,
    /// True if only an approval of exactly this request is valid. No rule, mode, grant or batch
    /// replaces it.
    pub requires_explicit_approval: bool,
    /// The answers of the hooks, which are asked first.
    pub hooks: Vec<HookAnswer>,
    /// The coverage of a grant, if the tool defines one.
    pub coverage: GrantCoverage,
    /// The directory whose changes can be approved for the session, if that is offered.
    pub offered_directory: Option<AbsPath>,
}

/// The coverage of a grant in addition to the exact operation. It is shown to the reviewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantCoverage {
    /// The keys for a grant of the session. A later request is covered if all of its keys were
    /// approved (llm-do's payloads, Codex's approval keys).
    pub keys: Vec<String>,
    /// The rules for a project grant, which replace the rules that the gate would suggest. Rules
    /// about commands are left out, because the tool does not decide how much of a command line is
    /// remembered.
    pub rules: Vec<String>,
}

impl CheckRequest {
    /// Returns the keys under which an approval for the session is remembered.
    pub(super) fn grant_keys(&self) -> Vec<GrantKey> {
        let named = self.coverage.keys.iter().cloned().map(GrantKey::ToolKey);
        std::iter::once(GrantKey::Operation(self.digest)).chain(named).collect()
    }
}

/// The result of a check.
#[must_use]
#[derive(Debug)]
pub enum GateOutcome {
    /// The operation may run.
    Proceed(Permit),
    /// The operation may not run.
    Refuse(OperationRefusal),
    /// A reviewer is asked; the request is pending until it is answered.
    Ask(Box<ApprovalRequest>),
}

/// The right to run one operation once. Only the gate creates permits. A permit cannot be copied,
/// and running a tool consumes it.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    digest: OperationDigest, // INVARIANT: made by the gate, for an allowed or approved operation.
    decision: Box<Decision>,
}

impl Permit {
    pub(super) fn new(question: &CheckRequest, decision: Decision) -> Self {
        Self { digest: question.digest, decision: Box::new(decision) }
    }

    /// Returns the digest of the operation that the permit is for.
    #[must_use]
    pub const fn digest(&self) -> OperationDigest {
        self.digest
    }

    /// Returns the decision that led to the permit.
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Consumes the permit. Returns true only for the exact operation that it is for.
    #[must_use]
    pub fn redeem(self, digest: OperationDigest) -> bool {
        self.digest == digest
    }
}

/// The reason why an operation may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationRefusal {
    /// A rule or a mode denies the operation (`DeniedError`).
    Denied(Box<Decision>),
    /// A reviewer rejected this request (`RejectedError`) or another request of the session.
    Rejected,
    /// A reviewer rejected the request with a correction (`CorrectedError`).
    Corrected {
        /// The correction for the agent.
        message: String,
    },
    /// A reviewer stopped the turn, or the session ended.
    Cancelled,
}

/// The resolution of a pending request, and its consequence for the operation.
#[must_use]
#[derive(Debug)]
pub struct ResolvedRequest {
    /// The resolution, for observers.
    pub resolution: Resolution,
    /// The permit or the refusal, for the caller that waits for the answer.
    pub outcome: Result<Permit, OperationRefusal>,
}

/// One answer to the requests of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAnswer {
    /// Approves each request once, except for those that require explicit approval, which stay
    /// pending.
    All,
    /// Rejects all requests of the group. Other requests of the session are not affected.
    Skip,
}

/// The error for a request that is not pending: it was already answered, or never existed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPendingError(pub ApprovalId);

impl std::fmt::Display for NotPendingError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "no request {} is pending", self.0)
    }
}

impl std::error::Error for NotPendingError {}
