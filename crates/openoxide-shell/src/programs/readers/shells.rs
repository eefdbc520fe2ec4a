//! Shells that are given a script with `-c`.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{Arg, Arguments, Meaning, level::Level},
    Inside, UNCLEAR, carrying,
};

const READS_SCRIPT: Inside = Inside::Unknown("runs a script file, or what it reads");

/// The long options of bash, which may have one dash; only before all others.
const BASH_FLAGS: [&str; 12] = [
    "debug",
    "debugger",
    "dump-po-strings",
    "dump-strings",
    "login",
    "noediting",
    "noprofile",
    "norc",
    "posix",
    "pretty-print",
    "restricted",
    "verbose",
];

/// `bash`, and `sh`, which may be bash.
pub(in super::super) fn bash(level: &'static Level, arguments: Arguments<'_>, _: usize) -> Meaning {
    checked(arguments).unwrap_or_else(|| carrying(level, inside_bash(arguments.words)))
}

/// `-n FILE` reads a script without running it; together with other options it can be undone.
fn checked(arguments: Arguments<'_>) -> Option<Meaning> {
    let file = arguments.known(2).filter(|file| !file.starts_with(['-', '+']))?;
    (arguments.known(1) == Some("-n") && arguments.words.len() == 3).then(|| {
        let mut meaning = Meaning::of(CommandClass::Harmless);
        meaning.read(Arg::Known(file), false);
        meaning
    })
}

fn inside_bash(argv: &CommandWords) -> Inside {
    let mut skip = 1;
    while let Some(option) = argv.known_word(skip).and_then(|word| word.strip_prefix('-')) {
        let (name, long) = match option.strip_prefix('-') {
            Some(name) => (name, true),
            None => (option, false),
        };
        match name {
            _ if BASH_FLAGS.contains(&name) => skip += 1,
            "init-file" | "rcfile" => return Inside::Unknown("runs a start-up file first"),
            "help" | "version" => return Inside::Ends,
            "" => break,
            _ if long => return UNCLEAR,
            _ => break,
        }
    }
    after(argv, skip, "abefhiklmnprstuvxBCEHPTo", "O")
}

/// `dash`, `ash`, `ksh` and their like.
pub(in super::super) fn posix(
    level: &'static Level,
    arguments: Arguments<'_>,
    _: usize,
) -> Meaning {
    checked(arguments).unwrap_or_else(|| carrying(level, inside_posix(arguments.words)))
}

fn inside_posix(argv: &CommandWords) -> Inside {
    after(argv, 1, "abefhiklmnpsuvxCEIVo", "")
}

/// `zsh`.
pub(in super::super) fn zsh(level: &'static Level, arguments: Arguments<'_>, _: usize) -> Meaning {
    carrying(level, inside_zsh(arguments.words))
}

fn inside_zsh(argv: &CommandWords) -> Inside {
    match argv.known_word(1) {
        Some("--version" | "--help") => Inside::Ends,
        _ => after(argv, 1, "efilnuvxso", ""),
    }
}

/// Reads clusters of letters from the word at `skip` on. `o`, and the letters of `named`, take a name from the next
/// words.
fn after(argv: &CommandWords, skip: usize, letters: &str, named: &str) -> Inside {
    let mut words = argv.iter().skip(skip).peekable();
    let mut script = false;
    loop {
        let cluster = match words.peek() {
            Some(CommandWord::Known("-" | "--")) => {
                words.next();
                break;
            }
            Some(CommandWord::Known(text)) if text.starts_with(['-', '+']) => *text,
            Some(CommandWord::Known(_)) | None => break,
            Some(CommandWord::KnownPrefix(text))
                if !text.is_empty() && !text.starts_with(['-', '+']) =>
            {
                break;
            }
            Some(_) => return UNCLEAR,
        };
        words.next();
        let mut rest = cluster.chars();
        let off = rest.next() == Some('+');
        while let Some(letter) = rest.next() {
            match letter {
                'c' if !off => script = true,
                'o' | 'O' if letter == 'o' || named.contains(letter) => {
                    // Where more letters follow, the shells do not agree what the name is.
                    let name = words.next_if(|word| matches!(word, CommandWord::Known(_)));
                    if !rest.as_str().is_empty() || name.is_none() {
                        return UNCLEAR;
                    }
                }
                _ if letters.contains(letter) => {}
                _ => return UNCLEAR,
            }
        }
    }
    match (script, words.next()) {
        (false, _) => READS_SCRIPT,
        (true, None) => Inside::Nothing,
        (true, Some(CommandWord::Known(script))) => Inside::Script(script.to_owned()),
        (true, Some(_)) => Inside::Unknown("runs a script that is not known"),
    }
}
