//! The approval that a call requires before it runs.

/// The approval that a call requires before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExecApprovalRequirement {
    /// The call requires no approval.
    Skip {
        /// True if the call runs without a sandbox because rules allow each of its commands.
        bypass_sandbox: bool,
        /// The words of the rule that is proposed if the sandbox blocks the call.
        amendment: Option<Vec<String>>,
    },
    /// The call requires an approval.
    NeedsApproval {
        /// The reason, if a rule requires the question.
        reason: Option<String>,
        /// The words of the rule that is proposed.
        amendment: Option<Vec<String>>,
    },
    /// The call requires a person's approval for this one run. No rule, hook or earlier approval
    /// replaces it.
    NeedsHumanApproval {
        /// The justification of the administrator's rule.
        reason: String,
    },
    /// The call must not run.
    Forbidden {
        /// The reason that the model is shown.
        reason: String,
    },
}
