//! Construction of the words of a command from those of another command.

use openoxide_protocol::{CommandWord, CommandWords};

/// Adds a word in which `placeholder` stands for unknown text.
pub(super) fn push_replaced(words: &mut CommandWords, word: CommandWord<'_>, placeholder: &str) {
    let replaced = match word {
        CommandWord::AnyWords => None,
        CommandWord::Known(text) | CommandWord::KnownPrefix(text) => text.split_once(placeholder),
    };
    match replaced {
        Some((beginning, _)) => push_prefix(words, beginning),
        None => push_word(words, word),
    }
}

pub(super) fn push_word(words: &mut CommandWords, word: CommandWord<'_>) {
    match word {
        CommandWord::Known(text) => words.push(text),
        CommandWord::KnownPrefix(text) => push_prefix(words, text),
        CommandWord::AnyWords => words.push_any_words(),
    }
}

/// Adds a word of which only the beginning is known.
pub(super) fn push_prefix(words: &mut CommandWords, text: &str) {
    words.push_known_text(text);
    words.push_unknown_text();
    words.end_word();
}

/// Returns the words joined by blanks, if all of them are known.
pub(in super::super) fn join_words(command: &CommandWords) -> Option<String> {
    let mut script = String::new();
    for word in command.iter() {
        let CommandWord::Known(text) = word else { return None };
        if !script.is_empty() {
            script.push(' ');
        }
        script.push_str(text);
    }
    Some(script)
}

/// Returns the command as it runs in another directory. Relative names refer to other files there,
/// and so do the files that are used without being named.
pub(super) fn relocate_command(command: &CommandWords) -> CommandWords {
    let mut words = CommandWords::new();
    for (at, word) in command.iter().enumerate() {
        match word {
            CommandWord::Known(text) if at == 0 || text.starts_with(['/', '-']) => words.push(text),
            CommandWord::KnownPrefix(text) if text.starts_with('/') => {
                push_prefix(&mut words, text);
            }
            CommandWord::Known(_) | CommandWord::KnownPrefix(_) => words.push_unknown(),
            CommandWord::AnyWords => words.push_any_words(),
        }
    }
    words.push_any_words();
    words
}
