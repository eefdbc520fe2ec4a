//! The reasons why Codex rejects a rule file, with its messages.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

/// A rule file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFileError {
    /// The text that Codex prints: one or more lines.
    pub message: String,
    /// The error, without a location.
    pub reason: String,
    /// The location as byte offsets in the file, if it is known.
    pub span: Option<Range<usize>>,
}

impl RuleFileError {
    /// Returns an error for a file that exceeds a limit of OpenOxide. Codex has no such limit.
    #[must_use]
    pub fn limit_exceeded(what: &str) -> Self {
        let reason = what.to_owned();
        Self { message: reason.clone(), reason, span: None }
    }
}

impl fmt::Display for RuleFileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for RuleFileError {}

/// An error in a call or in an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleCallError {
    /// The decision is unknown.
    Decision(String),
    /// An error in a pattern.
    Pattern(String),
    /// An error in an example.
    Example(&'static str),
    /// An error in an example, with the type of the unexpected value.
    ExampleType(&'static str, &'static str),
    /// Any other error in a call.
    Rule(String),
    /// An example that must not match does match.
    Matches {
        /// The rule that matches.
        matched_rule: String,
        /// The example.
        example: String,
    },
    /// Some examples that must match do not.
    DoesNotMatch {
        /// The rules of the call.
        rules: Vec<String>,
        /// The examples that do not match.
        examples: Vec<String>,
    },
}

impl fmt::Display for RuleCallError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision(word) => write!(out, "invalid decision: {word}"),
            Self::Pattern(what) => write!(out, "invalid pattern element: {what}"),
            Self::Example(what) => write!(out, "invalid example: {what}"),
            Self::ExampleType(what, kind) => write!(out, "invalid example: {what} (got {kind})"),
            Self::Rule(what) => write!(out, "invalid rule: {what}"),
            Self::Matches { matched_rule: found, example } => {
                write!(out, "expected example to not match rule `{found}`: {example}")
            }
            Self::DoesNotMatch { rules, examples } => write!(
                out,
                "expected every example to match at least one rule. rules: {rules:?}; unmatched examples: {examples:?}"
            ),
        }
    }
}

impl std::error::Error for RuleCallError {}
