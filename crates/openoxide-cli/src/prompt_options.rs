//! The options of the prompt, from the arguments and the environment.

use openoxide_tui::{AskOptions, InputMode, TextStyle};

use crate::{args::GlobalArgs, terminal_color};

/// Returns the options of a prompt on standard error.
pub(crate) fn ask_options(global: GlobalArgs) -> AskOptions {
    let colored = terminal_color::use_color(global.color, &std::io::stderr());
    AskOptions {
        style: if colored { TextStyle::Ansi } else { TextStyle::Plain },
        input: InputMode::from_term(std::env::var("TERM").ok().as_deref()),
        withdrawn: None,
        history_lookup: None,
    }
}
