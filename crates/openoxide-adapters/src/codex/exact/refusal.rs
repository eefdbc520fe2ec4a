//! Why Codex takes no rule from a file, in its own words.

use std::{fmt, ops::Range};

/// A rule file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// What Codex prints of it: one or more lines.
    pub message: String,
    /// What is wrong, without a place.
    pub(crate) reason: String,
    /// Where, if a place is known: byte offsets in the file.
    pub(crate) span: Option<Range<usize>>,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Unreadable {}

/// What is wrong with a call, or with an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Decision(String),
    Pattern(String),
    Example(&'static str),
    ExampleOf(&'static str, &'static str),
    Rule(String),
    Matches { found: String, example: String },
    MatchesNot { rules: Vec<String>, examples: Vec<String> },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision(word) => write!(out, "invalid decision: {word}"),
            Self::Pattern(what) => write!(out, "invalid pattern element: {what}"),
            Self::Example(what) => write!(out, "invalid example: {what}"),
            Self::ExampleOf(what, kind) => write!(out, "invalid example: {what} (got {kind})"),
            Self::Rule(what) => write!(out, "invalid rule: {what}"),
            Self::Matches { found, example } => {
                write!(out, "expected example to not match rule `{found}`: {example}")
            }
            Self::MatchesNot { rules, examples } => write!(
                out,
                "expected every example to match at least one rule. rules: {rules:?}; unmatched examples: {examples:?}"
            ),
        }
    }
}

impl std::error::Error for Refusal {}
