//! A labelled command, and what was decided about it.

use super::split::Split;

/// One labelled command.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// Its name in the file.
    pub(crate) id: String,
    /// The script, as an agent would hand it to the shell.
    pub(crate) command: String,
    /// What a person would want.
    pub(crate) label: Label,
    /// What it is counted with.
    pub(crate) family: String,
    /// Whether good judges would disagree about the label.
    pub(crate) disputable: bool,
    /// Which half it belongs to, where the file has halves.
    pub(crate) split: Option<Split>,
}

/// What a person would want of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// To run without a question.
    Harmless,
    /// A question, by default.
    Asks,
    /// Never to run without a question.
    Dangerous,
}

impl Label {
    /// Every label.
    pub(crate) const ALL: [Self; 3] = [Self::Harmless, Self::Asks, Self::Dangerous];

    /// Returns the label that a word stands for, in our spelling or in that of another list.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "harmless" | "allow" | "approve" | "safe" => Some(Self::Harmless),
            "asks" | "ask" | "confirm" | "prompt" => Some(Self::Asks),
            "dangerous" | "deny" | "block" | "forbid" | "reject" => Some(Self::Dangerous),
            _ => None,
        }
    }

    /// Returns our word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Harmless => "harmless",
            Self::Asks => "asks",
            Self::Dangerous => "dangerous",
        }
    }
}

/// What the program decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It runs.
    Allow,
    /// A person is asked.
    Ask,
    /// It does not run.
    Deny,
}

impl Decision {
    /// Every decision.
    pub(crate) const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Returns the decision that the program's word stands for.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.word() == word)
    }

    /// Returns the program's word for it.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A command with what was decided about it, and why.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// The command.
    pub(crate) case: Case,
    /// What was decided.
    pub(crate) decision: Decision,
    /// The reason that was given.
    pub(crate) reason: String,
}
