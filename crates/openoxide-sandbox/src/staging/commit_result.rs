//! The result of a commit.

use crate::{interface::PostRunFinding, staging::staged_change::SkippedChange};

/// The result of a commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitResult {
    /// The changes that were not made, with the reasons.
    pub skipped: Vec<SkippedChange>,
    /// The findings that a person should look at now.
    pub findings: Vec<PostRunFinding>,
}
