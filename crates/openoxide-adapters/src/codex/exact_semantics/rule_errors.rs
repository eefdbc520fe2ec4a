//! Why Codex takes no rule from a file, in its own words.

use std::{fmt, ops::Range};

use serde::{Deserialize, Serialize};

/// A rule file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleFileError {
    /// What Codex prints of it: one or more lines.
    pub message: String,
    /// What is wrong, without a place.
    pub reason: String,
    /// Where, if a place is known: byte offsets in the file.
    pub span: Option<Range<usize>>,
}

impl RuleFileError {
    /// Returns that a file goes over a bound of ours, which Codex does not have.
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

/// What is wrong with a call, or with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleCallError {
    /// There is no such decision.
    Decision(String),
    /// Of a pattern.
    Pattern(String),
    /// Of an example.
    Example(&'static str),
    /// Of an example, and the type of what stands there.
    ExampleType(&'static str, &'static str),
    /// Of anything else in a call.
    Rule(String),
    /// An example that must not match does: the match, and the example.
    Matches {
        /// The match.
        matched_rule: String,
        /// The example.
        example: String,
    },
    /// Examples that must match do not.
    DoesNotMatch {
        /// The rules of the call.
        rules: Vec<String>,
        /// The examples.
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
