//! The prompt that asks a reviewer in the terminal, inline between other output.

mod ask_error;
mod ask_options;
mod batch;
mod choice_prompt;
mod console;
mod content;
mod decision_reasons;
mod grant_menu;
mod hidden_content;
mod input_mode;
mod line_editor;
mod line_prompt;
mod paged_lines;
mod prompt_options;
mod prompt_session;
mod prompt_state;
mod render;
mod render_options;
mod screen_pages;
mod terminal;
mod text_page;

use std::{
    io::{self, IsTerminal as _},
    sync::{Mutex, PoisonError},
};

use openoxide_protocol::{ApprovalRequest, ApprovalResponse};

pub use ask_error::AskError;
pub use ask_options::AskOptions;
pub use choice_prompt::AnswerOption;
pub use grant_menu::HistoryLookup;
pub use input_mode::InputMode;
pub use line_prompt::ask_lines;
pub use render::{render_prompt, render_request};
pub use render_options::{BatchPosition, RenderOptions};

/// The lock that allows one prompt at a time. Concurrent prompts would read each other's keys.
static ASK_LOCK: Mutex<()> = Mutex::new(());

/// Returns whether a terminal is available to ask on. The question is written to standard error,
/// because standard output is for data.
#[must_use]
pub fn can_ask() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the reviewer at the terminal one question.
///
/// Only a key (or a line) that approves is an approval. The end of the input, Enter without other
/// input, and input typed before the question was shown do not approve.
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
/// the chosen one. Returns `None` if the reviewer does not answer it: by pressing Ctrl-C, or
/// because the input ends.
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
