//! The way an answer is read: by keys or by lines.

/// The way an answer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputMode {
    /// One key answers.
    #[default]
    Keys,
    /// A line answers: for a terminal that knows no escape sequences.
    Lines,
}

impl InputMode {
    /// Returns what suits the terminal that the variable `TERM` names.
    #[must_use]
    pub fn from_term(term: Option<&str>) -> Self {
        match term {
            Some("dumb" | "") => Self::Lines,
            None if cfg!(unix) => Self::Lines,
            _ => Self::Keys,
        }
    }

    /// Returns the input that approves all: a capital letter where keys are read, a word where
    /// lines are.
    pub(crate) const fn approve_all_key(self) -> &'static str {
        match self {
            Self::Keys => "A",
            Self::Lines => "all",
        }
    }
}
