//! The way an answer is read: by keys or by lines.

/// The way an answer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputMode {
    /// A single key is an answer.
    #[default]
    Keys,
    /// A line is an answer. For terminals without escape sequences.
    Lines,
}

impl InputMode {
    /// Returns the input mode for the terminal that the variable `TERM` names.
    #[must_use]
    pub fn from_term(term: Option<&str>) -> Self {
        match term {
            Some("dumb" | "") => Self::Lines,
            None if cfg!(unix) => Self::Lines,
            _ => Self::Keys,
        }
    }

    /// Returns the input that approves all requests: a capital letter for keys, a word for lines.
    pub(crate) const fn approve_all_key(self) -> &'static str {
        match self {
            Self::Keys => "A",
            Self::Lines => "all",
        }
    }
}
