//! Commands as text for a person.

use openoxide_protocol::{CommandWord, CommandWords};

/// Returns a command for a person to read, its words quoted where that is needed.
pub(super) fn render_command(argv: &CommandWords) -> String {
    let mut text = String::new();
    for word in argv.iter() {
        if !text.is_empty() {
            text.push(' ');
        }
        match word {
            CommandWord::Known(word) if needs_no_quotes(word) => text.push_str(word),
            CommandWord::Known(word) => {
                text.extend(["'", &word.replace('\'', "'\\''"), "'"]);
            }
            CommandWord::KnownPrefix(word) => text.extend([word, "…"]),
            CommandWord::AnyWords => text.push('…'),
        }
    }
    text
}

fn needs_no_quotes(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:,@%+=-".contains(&byte))
}
