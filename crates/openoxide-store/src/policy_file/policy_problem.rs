//! A problem in a policy file.

use std::ops::Range;

/// A problem in a policy file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProblem {
    /// The message: lower case, text of the user in backticks, no full stop.
    pub message: String,
    /// The likely correction.
    pub help: Option<String>,
    /// The byte range in the file.
    pub span: Range<usize>,
    /// True if the problem may cause the loss of an ask or deny rule.
    pub loses_restriction: bool,
}
