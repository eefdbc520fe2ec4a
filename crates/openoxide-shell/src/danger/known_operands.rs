//! The operands of a command.

use openoxide_protocol::{CommandWord, CommandWords};

/// Returns the operands that are completely known. Before `--`, a word that looks like an option is
/// an option.
pub(super) fn known_operands(argv: &CommandWords) -> impl Iterator<Item = &str> {
    let mut ended = false;
    argv.iter().skip(1).filter_map(move |word| match word {
        CommandWord::Known("--") if !ended => {
            ended = true;
            None
        }
        CommandWord::Known(text) if ended || !text.starts_with('-') => Some(text),
        _ => None,
    })
}
