//! What the gate is asked, and what it answers.

use openoxide_protocol::{
    ApprovalId, ApprovalRequest, Decision, HookAnswer, Operation, OperationDigest, OperationFacts,
    RequestPresentation, Resolution,
};

use crate::session_grants::GrantKey;

/// What the gate is asked.
#[derive(Clone, Debug)]
pub struct CheckRequest {
    /// The tool call.
    pub operation: Operation,
    /// What it means.
    pub facts: OperationFacts,
    /// What a yes is bound to.
    pub digest: OperationDigest,
    /// The id of the request, if a reviewer has to be asked.
    pub id: ApprovalId,
    /// What a reviewer would be shown.
    pub presentation: RequestPresentation,
    /// One line that says what is wanted.
    pub title: String,
    /// Requests of one group can be answered together.
    pub group: Option<String>,
    /// Whether only a yes to this very request counts: then no rule, mode, grant or batch is one.
    pub requires_explicit_approval: bool,
    /// What the hooks said of it; they were asked first.
    pub hooks: Vec<HookAnswer>,
    /// What a lasting yes covers, if the tool has its own idea of it.
    pub coverage: GrantCoverage,
}

/// What a lasting yes covers beyond the very operation. The reviewer is shown it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantCoverage {
    /// For the session: later requests whose keys were all said yes to (seed 001's payloads, Codex's approval keys).
    pub keys: Vec<String>,
    /// For the project: these rules in the place of those that the gate would offer. A rule about commands is left out:
    /// how much of a command line may be remembered is not the tool's to say.
    pub rules: Vec<String>,
}

impl CheckRequest {
    /// Returns the keys under which a yes for the session is remembered.
    pub(super) fn grant_keys(&self) -> Vec<GrantKey> {
        let named = self.coverage.keys.iter().cloned().map(GrantKey::ToolKey);
        std::iter::once(GrantKey::Operation(self.digest)).chain(named).collect()
    }
}

/// The gate's answer to a question.
#[must_use]
#[derive(Debug)]
pub enum GateOutcome {
    /// It may run.
    Proceed(Permit),
    /// It may not.
    Refuse(OperationRefusal),
    /// A reviewer is asked; the request is pending until it is answered.
    Ask(Box<ApprovalRequest>),
}

/// The right to run one operation, once. Only the gate makes one, it cannot be copied, and running a tool consumes it.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub struct Permit {
    digest: OperationDigest, // INVARIANT: made by the gate, for an operation that was allowed or approved.
    decision: Box<Decision>,
}

impl Permit {
    pub(super) fn new(question: &CheckRequest, decision: Decision) -> Self {
        Self { digest: question.digest, decision: Box::new(decision) }
    }

    /// Returns what it was granted for.
    #[must_use]
    pub const fn digest(&self) -> OperationDigest {
        self.digest
    }

    /// Returns the decision behind it.
    pub const fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Uses the permit up. It says yes only for the very operation that it was granted for.
    #[must_use]
    pub fn redeem(self, digest: OperationDigest) -> bool {
        self.digest == digest
    }
}

/// Why an operation may not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationRefusal {
    /// A rule or a mode denies it (`DeniedError`).
    Denied(Box<Decision>),
    /// A reviewer said no (`RejectedError`), or another request of the session was rejected.
    Rejected,
    /// A reviewer said what to do instead (`CorrectedError`).
    Corrected {
        /// What to do instead.
        message: String,
    },
    /// A reviewer stopped the turn, or the session ended.
    Cancelled,
}

/// How a pending request ended, and what becomes of the operation.
#[must_use]
#[derive(Debug)]
pub struct ResolvedRequest {
    /// For those who watch.
    pub resolution: Resolution,
    /// For the one who waits.
    pub outcome: Result<Permit, OperationRefusal>,
}

/// One answer to the requests of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupAnswer {
    /// Yes, once each, to all but those that demand an explicit yes: these stay pending.
    All,
    /// No to all of them, and to nothing else of the session.
    Skip,
}

/// No such request is pending: it was answered already, or never asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPendingError(pub ApprovalId);

impl std::fmt::Display for NotPendingError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "no request {} is pending", self.0)
    }
}

impl std::error::Error for NotPendingError {}
