//! Use of color (NO_COLOR, CLICOLOR_FORCE).

use std::io::IsTerminal;

use crate::args::ColorWhen;

/// Returns whether text for this stream is colored.
pub(crate) fn use_color(when: ColorWhen, stream: &impl IsTerminal) -> bool {
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if set("NO_COLOR") => false,
        ColorWhen::Auto
            if std::env::var_os("CLICOLOR_FORCE")
                .is_some_and(|value| !value.is_empty() && value != "0") =>
        {
            true
        }
        ColorWhen::Auto => {
            stream.is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
        }
    }
}

/// Returns `text` with an SGR parameter (ECMA-48).
pub(crate) fn paint_text(colored: bool, code: &str, text: &str) -> String {
    if colored { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
}
