//! Commands that create, move and copy links.

use openoxide_protocol::{CommandWord, CommandWords, ExecAccess};

/// Returns the file name of the program of a command, if it is known.
pub(crate) fn program_name(exec: &ExecAccess) -> Option<&str> {
    exec.argv.known_word(0).map(|name| name.rsplit('/').next().unwrap_or(name))
}

/// Returns whether a word makes `cp` copy the content of a directory into the target, instead of the
/// directory itself.
pub(crate) fn copies_content(word: CommandWord<'_>) -> bool {
    match word {
        CommandWord::Known(word) => {
            word == "."
                || word.ends_with("/.")
                || word.starts_with("--no-t")
                || has_letter(word, 'T')
        }
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
    }
}

/// Returns whether a command copies whole directories.
pub(crate) fn copies_directories(exec: &ExecAccess) -> bool {
    matches!(program_name(exec), Some("cp" | "gcp"))
        && exec.argv.iter().skip(1).any(|word| match word {
            CommandWord::Known(word) => {
                "rRa".chars().any(|letter| has_letter(word, letter))
                    || word.starts_with("--r")
                    || word.starts_with("--a")
            }
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
        })
}

/// Returns whether a command that moves or copies files keeps links, instead of copying the files that
/// they lead to.
pub(crate) fn keeps_links(exec: &ExecAccess) -> bool {
    !matches!(program_name(exec), Some("cp" | "gcp"))
        || exec.argv.iter().skip(1).any(|word| match word {
            CommandWord::Known(word) => {
                "adPrR".chars().any(|letter| has_letter(word, letter))
                    || ["--a", "--no-d", "--p", "--r"].iter().any(|start| word.starts_with(start))
            }
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
        })
}

/// Returns whether a command creates links to the files that it reads.
pub(crate) fn creates_links(exec: &ExecAccess) -> bool {
    match program_name(exec) {
        Some("ln" | "gln" | "link") => true,
        Some("cp" | "gcp") => exec.argv.iter().skip(1).any(|word| match word {
            CommandWord::Known(word) => {
                word.starts_with("--s")
                    || word.starts_with("--l")
                    || has_letter(word, 's')
                    || has_letter(word, 'l')
            }
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => true,
        }),
        _ => false,
    }
}

/// Returns whether a word is a cluster of short options that contains a letter. The text after `S` or
/// `t` is a value.
fn has_letter(word: &str, letter: char) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| {
        letters.split(['S', 't']).next().is_some_and(|options| options.contains(letter))
    })
}

/// Returns whether a command can put existing links into another directory.
pub(crate) fn moves_links(exec: &ExecAccess) -> bool {
    match program_name(exec) {
        Some("mv" | "cp" | "rsync" | "link" | "gmv" | "gcp") => true,
        Some("ln" | "gln") => !creates_symbolic_link(&exec.argv),
        _ => false,
    }
}

/// Returns whether an option makes `ln` create a symbolic link instead of a hard link.
fn creates_symbolic_link(argv: &CommandWords) -> bool {
    let options = argv.iter().map_while(|word| match word {
        CommandWord::Known("--") => None,
        CommandWord::Known(text) => Some(text),
        CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
    });
    options.into_iter().any(|option| has_letter(option, 's') || option == "--symbolic")
}
