//! The options of a question.

use std::sync::{Arc, atomic::AtomicBool};

use crate::{
    inline::{grant_menu::HistoryLookup, input_mode::InputMode},
    style::TextStyle,
};

/// Options of a question.
#[derive(Clone, Debug, Default)]
pub struct AskOptions {
    /// The text style. Ignored if [`Self::input`] is lines, which are always plain.
    pub style: TextStyle,
    /// The way the answer is read.
    pub input: InputMode,
    /// A flag that the caller sets to withdraw the question: it timed out, it was answered
    /// elsewhere, or the program must end. The prompt then ends within a quarter of a second and
    /// restores the terminal. A prompt that reads lines ends with the next line, which is not used
    /// as an answer.
    pub withdrawn: Option<Arc<AtomicBool>>,
    /// The lookup of the past questions that each choice of "always" would have answered. Without
    /// it, only the rules are shown.
    pub history_lookup: Option<HistoryLookup>,
}
