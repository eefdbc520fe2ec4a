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

/// How to ask.
#[derive(Clone, Debug, Default)]
pub struct AskOptions {
    /// How text is set off. Where [`Self::input`] is lines, nothing is.
    pub style: TextStyle,
    /// How the answer is read.
    pub input: InputMode,
    /// Raised by the caller when the question is void: it ran out of time, it was answered elsewhere, the program is
    /// told to end. The prompt then ends within a quarter of a second, with the terminal as it was before;
    /// where lines are read, it ends with the next line, which is then no answer.
    pub withdrawn: Option<Arc<AtomicBool>>,
    /// What says of each choice of "always" what it would have answered before. Without it, only the rules are shown.
    pub history_lookup: Option<HistoryLookup>,
}

/// How the answer is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InputMode {
    /// One key answers.
    #[default]
    Keys,
    /// A line answers: for a terminal that knows no escape sequences.
    Lines,
}

/// Why nobody could be asked. To its caller all of them mean: there is no answer, and so there is no yes.
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

/// Says whether there is a terminal to ask on. The question goes to standard error, since standard output is data.
#[must_use]
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the reviewer at the terminal one question.
///
/// Nothing but a key (or a line) that says yes is a yes: the end of the input and Enter alone are none, and neither is
/// what was typed before the question was there.
///
/// # Errors
/// Nobody could be asked.
pub fn ask(request: &ApprovalRequest, options: &AskOptions) -> Result<ApprovalResponse, AskError> {
    let answers = ask_group(std::slice::from_ref(request), options)?;
    answers.into_iter().next().ok_or(AskError::HungUp)
}

/// Asks the reviewer at the terminal about `requests`, one by one, and returns an answer to each. Requests of one group
/// can be answered together.
///
/// A rejection or a cancellation stands for the session's other requests too, which are then not asked.
///
/// # Errors
/// Nobody could be asked; answers that were already given are void.
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

/// Asks the reviewer at the terminal a question whose answers the caller names, and returns which one was chosen; none where the
/// reviewer leaves it unanswered: with Ctrl-C, or because the input ends.
///
/// Our own answers are not offered. As with [`ask`], nothing chooses but a key (or a line), and not what was typed before the question
/// was there.
///
/// # Errors
/// Nobody could be asked.
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
