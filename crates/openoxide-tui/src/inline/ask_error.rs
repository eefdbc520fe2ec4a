//! The error of a question without an answer.

use std::{fmt, io};

/// The reason why no answer could be obtained. For the caller, each of them means that the request
/// is not approved.
#[derive(Debug)]
pub enum AskError {
    /// Standard input and standard error are not both terminals.
    NoTerminal,
    /// The terminal was disconnected.
    HungUp,
    /// The caller withdrew the question.
    Withdrawn,
    /// Reading from or writing to the terminal failed.
    Io(io::Error),
}

impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for AskError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTerminal => out.write_str("no terminal is available to ask on"),
            Self::HungUp => out.write_str("the terminal was closed before you answered"),
            Self::Withdrawn => out.write_str("the question was withdrawn"),
            Self::Io(error) => write!(out, "the terminal failed: {error}"),
        }
    }
}

impl std::error::Error for AskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::NoTerminal | Self::HungUp | Self::Withdrawn => None,
        }
    }
}
