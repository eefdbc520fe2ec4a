//! A labelled command, and the decision about it.

use super::split::Split;

/// One labelled command.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The id in the file.
    pub(crate) id: String,
    /// The script.
    pub(crate) command: String,
    /// The decision that a person would want.
    pub(crate) label: Label,
    /// The group with which it is counted.
    pub(crate) family: String,
    /// True if experts would disagree about the label.
    pub(crate) disputable: bool,
    /// The half that it belongs to, if the file has halves.
    pub(crate) split: Option<Split>,
}

/// The decision that a person would want for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// The command runs without a question.
    Harmless,
    /// The command requires approval by default.
    Asks,
    /// The command never runs without a question.
    Dangerous,
}

impl Label {
    /// All labels.
    pub(crate) const ALL: [Self; 3] = [Self::Harmless, Self::Asks, Self::Dangerous];

    /// Parses a label in the spelling of this project or of another list.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word {
            "harmless" | "allow" | "approve" | "safe" => Some(Self::Harmless),
            "asks" | "ask" | "confirm" | "prompt" => Some(Self::Asks),
            "dangerous" | "deny" | "block" | "forbid" | "reject" => Some(Self::Dangerous),
            _ => None,
        }
    }

    /// Returns the name of the label.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Harmless => "harmless",
            Self::Asks => "asks",
            Self::Dangerous => "dangerous",
        }
    }
}

/// The decision of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The command runs.
    Allow,
    /// A person is asked.
    Ask,
    /// The command does not run.
    Deny,
}

impl Decision {
    /// All decisions.
    pub(crate) const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// Parses a decision of the program.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.word() == word)
    }

    /// Returns the name of the decision.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// A command with the decision about it and the reason.
#[derive(Clone, Debug)]
pub(crate) struct Judged {
    /// The command.
    pub(crate) case: Case,
    /// The decision.
    pub(crate) decision: Decision,
    /// True if the command may run only in the sandbox.
    pub(crate) is_confined: bool,
    /// The reason that was given.
    pub(crate) reason: String,
}
