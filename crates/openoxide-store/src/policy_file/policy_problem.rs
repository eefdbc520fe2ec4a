//! A problem in a policy file.

use std::ops::Range;

use crate::line_numbers::LineNumbers;

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

impl PolicyProblem {
    /// Returns the line in `text` where the problem starts. The first line is 1.
    #[must_use]
    pub fn line_in(&self, text: &str) -> u32 {
        LineNumbers::new(text).line_at(self.span.start)
    }
}
