//! A problem in a policy file.

use std::ops::Range;

/// One thing that is wrong with a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProblem {
    /// The problem: lower case, the user's words in backticks, no full stop.
    pub message: String,
    /// The probable correction.
    pub help: Option<String>,
    /// The byte range in the file.
    pub span: Range<usize>,
    /// True if the problem may cause the loss of a rule that asks or denies.
    pub loses_restriction: bool,
}
