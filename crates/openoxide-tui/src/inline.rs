//! The prompt that asks a reviewer in the terminal, between the lines of whatever else is written there.

mod batch;
mod choice_prompt;
mod console;
mod content;
mod decision_reasons;
mod grant_menu;
mod hidden_content;
mod line_editor;
mod line_prompt;
mod prompt_options;
mod prompt_session;
mod prompt_state;
mod render;
mod terminal;

use std::{
    fmt, io,
    io::IsTerminal as _,
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse};

pub use choice_prompt::AnswerOption;
pub use grant_menu::HistoryLookup;
pub use line_prompt::ask_lines;
pub use render::{BatchPosition, RenderOptions, render_prompt, render_request};

use crate::TextStyle;

/// Two prompts at once would take each other's keys.
static ASK_LOCK: Mutex<()> = Mutex::new(());

/// Options of a question.
#[derive(Clone, Debug, Default)]
pub struct AskOptions {
    /// The text style. Ignored where [`Self::input`] is lines, which are always plain.
    pub style: TextStyle,
    /// The way the answer is read.
    pub input: InputMode,
    /// A flag that the caller sets to withdraw the question: it timed out, it was answered
    /// elsewhere, or the program must end. The prompt then ends within a quarter of a second and
    /// restores the terminal. Where lines are read, it ends with the next line, which is not used
    /// as an answer.
    pub withdrawn: Option<Arc<AtomicBool>>,
    /// The lookup of the questions that each choice of "always" would have answered. Without it,
    /// only the rules are shown.
    pub history_lookup: Option<HistoryLookup>,
}

/// The way an answer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputMode {
    /// One key answers.
    #[default]
    Keys,
    /// A line answers: for a terminal that knows no escape sequences.
    Lines,
}

/// The reason why no answer could be obtained. To the caller each of them means that the request is
/// not approved.
#[derive(Debug)]
pub enum AskError {
    /// Standard input and standard error are not both terminals.
    NoTerminal,
    /// The terminal went away.
    HungUp,
    /// The caller withdrew the question.
    Withdrawn,
    /// The terminal failed.
    Io(io::Error),
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
}

/// Returns whether a terminal is available to ask on. The question is written to standard error,
/// because standard output is for data.
#[must_use]
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the reviewer at the terminal one question.
///
/// Only a key (or a line) that approves is an approval. The end of the input, Enter alone, and
/// input typed before the question was shown do not approve.
///
/// # Errors
/// Returns an error if no answer could be obtained.
pub fn ask(request: &ApprovalRequest, options: &AskOptions) -> Result<ApprovalResponse, AskError> {
    let answers = ask_group(std::slice::from_ref(request), options)?;
    answers.into_iter().next().ok_or(AskError::HungUp)
}

/// Asks the reviewer at the terminal about `requests`, one by one, and returns an answer to each.
/// Requests of one group can be answered together.
///
/// A rejection or a cancellation also applies to the session's other requests, which are then not
/// asked.
///
/// # Errors
/// Returns an error if no answer could be obtained. Answers that were already given are void.
pub fn ask_group(
    requests: &[ApprovalRequest],
    options: &AskOptions,
) -> Result<Vec<ApprovalResponse>, AskError> {
    let _turn = ASK_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    if !can_ask() {
        return Err(AskError::NoTerminal);
    }
    match options.input {
        InputMode::Keys => prompt_session::ask_group(requests, options),
        InputMode::Lines => line_prompt::ask_terminal(requests, options),
    }
}

/// Asks the reviewer at the terminal a question with the caller's answers, and returns the index of
/// the chosen one. Returns `None` if the reviewer leaves it unanswered, with Ctrl-C or because the
/// input ends.
///
/// OpenOxide's own answers are not offered. As with [`ask`], only a key (or a line) chooses, and
/// input typed before the question was shown is ignored.
///
/// # Errors
/// Returns an error if no answer could be obtained.
pub fn ask_choice(
    request: &ApprovalRequest,
    offers: &[AnswerOption],
    options: &AskOptions,
) -> Result<Option<usize>, AskError> {
    let _turn = ASK_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    if !can_ask() {
        return Err(AskError::NoTerminal);
    }
    choice_prompt::choose_by_key(request, offers, options)
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
            Self::HungUp => out.write_str("the terminal went away before there was an answer"),
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
