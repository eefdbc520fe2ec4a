//! Builtins that commands rarely use, and rare uses of the others.

use openoxide_protocol::{CommandWord, CommandWords};

/// Returns whether a call of the builtin `name` is rare: it declares attributes, evaluates words as
/// arithmetic, assigns variables by name, or changes what later words mean.
pub(crate) fn is_rare_builtin_call(name: &str, words: &CommandWords) -> bool {
    let has_option = |options: &[&str]| {
        words.iter().skip(1).any(|word| match word {
            CommandWord::Known(text) => options.iter().any(|option| text.starts_with(option)),
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => false,
        })
    };
    match name {
        "declare" | "typeset" | "let" | "mapfile" | "readarray" | "getopts" | "enable"
        | "unalias" | "shopt" | "bind" | "complete" | "compgen" | "compopt" | "fc" => true,
        "alias" => words.len() > 1,
        "trap" => words.iter().any(|word| !matches!(word, CommandWord::Known(_))),
        "local" | "export" | "readonly" => words.iter().skip(1).any(may_be_compound),
        "test" | "[" => has_option(&["-v", "-R"]) && words.iter().skip(1).any(may_name_element),
        "printf" => has_option(&["-v"]),
        "read" | "unset" | "wait" => words.iter().skip(1).any(may_name_element),
        _ => false,
    }
}

/// Returns whether a declared word can assign an array: its value may begin with a parenthesis.
fn may_be_compound(word: CommandWord<'_>) -> bool {
    let value = |text: &str| text.split_once('=').map(|(_, value)| value.to_owned());
    match word {
        CommandWord::Known(text) => value(text).is_some_and(|value| value.starts_with('(')),
        CommandWord::KnownPrefix(text) => {
            value(text).is_none_or(|value| value.is_empty() || value.starts_with('('))
        }
        CommandWord::AnyWords => true,
    }
}

fn may_name_element(word: CommandWord<'_>) -> bool {
    match word {
        CommandWord::Known(text) => text.contains('['),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
    }
}
