//! Questions of `init` that are answered with a line. They do not approve a call of an agent.

use std::io::{self, BufRead as _, Write as _};

use openoxide_tui::can_ask;

use crate::args::GlobalArgs;

/// Asks a question at the terminal and returns the answer without surrounding white space. Returns
/// `None` if no terminal is available or if it was closed.
pub(super) fn ask_line(question: &str, global: GlobalArgs) -> Option<String> {
    if global.no_input || !can_ask() {
        return None;
    }
    let mut output = io::stderr().lock();
    write!(output, "{question} ").and_then(|()| output.flush()).ok()?;
    let mut answer = String::new();
    let length = io::stdin().lock().read_line(&mut answer).ok()?;
    (length > 0).then(|| answer.trim().to_owned())
}

/// Asks a question whose default answer is no.
pub(super) fn ask_yes(question: &str, global: GlobalArgs) -> bool {
    let answer = ask_line(&format!("{question} [y/N]"), global);
    answer.is_some_and(|answer| ["y", "yes"].contains(&answer.to_ascii_lowercase().as_str()))
}
