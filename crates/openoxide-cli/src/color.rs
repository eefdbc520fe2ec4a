//! Whether to use colour (NO_COLOR, CLICOLOR_FORCE).

use std::io::IsTerminal;

use crate::args::When;

/// Says whether text for this stream may carry colour.
pub(crate) fn wanted(when: When, stream: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto if set("NO_COLOR") => false,
        When::Auto
            if std::env::var_os("CLICOLOR_FORCE")
                .is_some_and(|value| !value.is_empty() && value != "0") =>
        {
            true
        }
        When::Auto => {
            stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Returns `text` with this parameter of SGR (ECMA-48).
pub(crate) fn paint(colored: bool, code: &str, text: &str) -> String {
    if colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
