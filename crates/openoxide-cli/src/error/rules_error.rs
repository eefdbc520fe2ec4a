//! Errors of rules that are added, compared or imported.

use openoxide_permission::RuleError;
use openoxide_tui::AskError;
use thiserror::Error;

use super::call_error::RowError;

/// The reason that rules cannot be added, compared or imported.
#[derive(Debug, Error)]
pub(crate) enum RulesError {
    /// The text is not a rule.
    #[error("`{text}`: {}", error.message)]
    InvalidRule {
        /// The rule as it was given.
        text: String,
        /// The error in it.
        error: RuleError,
    },
    /// A line of a file with calls cannot be evaluated.
    #[error("line {line}: {error}")]
    InvalidLine {
        /// The number of the line, from 1.
        line: usize,
        /// The error in it.
        #[source]
        error: RowError,
    },
    /// The person cannot be asked.
    #[error(transparent)]
    Ask(AskError),
    /// Only a person can answer for the rule, and no list of short rules can express that.
    #[error("`{0}` requires the answer of a person, which cannot be imported")]
    RequiresPerson(String),
}

impl RulesError {
    /// Returns whether the arguments are right, and the system refused.
    pub(super) const fn is_failure(&self) -> bool {
        matches!(self, Self::Ask(_))
    }

    /// Returns what to do next, if that is known.
    pub(super) fn hint(&self) -> Option<&str> {
        match self {
            Self::InvalidRule { error, .. } => error.help.as_deref(),
            Self::RequiresPerson(_) => Some("copy the rule by hand"),
            Self::InvalidLine { .. } | Self::Ask(_) => None,
        }
    }
}
