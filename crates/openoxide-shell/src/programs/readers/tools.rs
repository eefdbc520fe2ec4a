//! Programs that are harmless in some of their uses only.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{Arg, Arguments, Meaning, level::Level, reading::read_plainly},
    Known, harmless,
    print::is_digits,
};

/// `command -v NAME` and `command -V NAME` print; without them it runs what it is given.
pub(in super::super) fn command(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    match arguments.known(from) {
        Some("-v" | "-V") => Meaning::of(CommandClass::Harmless),
        _ => read_plainly(level, arguments, from),
    }
}

/// `clang-format -style=file:FILE`: it reads that file, and prints the lines that it does not understand.
pub(in super::super) fn style_file(meaning: &mut Meaning, name: &str, value: Option<Arg<'_>>) {
    match value {
        _ if name != "style" => {}
        Some(Arg::Known(text)) => {
            if let Some(file) = text.strip_prefix("file:") {
                meaning.read(Arg::Known(file), false);
            }
        }
        _ => meaning.lower(CommandClass::Unknown),
    }
}

/// `strings`: an operand `@FILE` is a file with more options.
pub(in super::super) fn strings(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if arguments.iter(from).any(|arg| matches!(arg, Arg::Known(text) if text.starts_with('@'))) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("its options lie in a file");
    }
    meaning
}

/// Reads a `tput` command. It is harmless with capabilities that only print. `init` and `reset` run
/// programs from the terminal's description.
pub(in super::super) fn tput(_: &Level, arguments: Arguments<'_>, _: usize) -> Meaning {
    harmless(shows_capability(arguments.words))
}

fn shows_capability(argv: &CommandWords) -> Option<Known> {
    const PRINTING: [&str; 20] = [
        "bel", "blink", "bold", "civis", "clear", "cnorm", "colors", "cols", "cup", "dim", "el",
        "lines", "op", "rev", "rmul", "setab", "setaf", "sgr0", "smso", "smul",
    ];
    let number = |word| matches!(word, CommandWord::Known(text) if is_digits(text));
    (PRINTING.contains(&argv.known_word(1)?) && argv.iter().skip(2).all(number))
        .then(Known::default)
}

/// `xxd`: reads its first operand and writes its second. It looks at two letters of each option, and options come first.
pub(in super::super) fn xxd(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = Meaning::of(level.class);
    let mut words = arguments.iter(from).peekable();
    while let Some(arg) = words.next_if(|arg| !matches!(arg, Arg::Known("-"))) {
        let option = match arg {
            Arg::Known(text) if text.starts_with('-') => text,
            _ => {
                dumps(&mut meaning, arg, words);
                return meaning;
            }
        };
        let option = option.strip_prefix("--").unwrap_or(option).trim_start_matches('-');
        match takes_value(option) {
            Some(true) => drop(words.next()),
            Some(false) => {}
            None => meaning.lower(CommandClass::Unknown),
        }
    }
    if let Some(arg) = words.next() {
        dumps(&mut meaning, arg, words);
    }
    meaning
}

fn dumps<'a>(meaning: &mut Meaning, first: Arg<'a>, mut rest: impl Iterator<Item = Arg<'a>>) {
    meaning.read(first, false);
    if let Arg::Paths(_) | Arg::Many = first {
        meaning.write(Arg::Many);
    }
    rest.next().into_iter().for_each(|output| meaning.write(output));
    if rest.next().is_some() {
        meaning.lower(CommandClass::Unknown);
    }
}

/// Returns whether the next word belongs to an option, or `None` if there is no such option.
fn takes_value(option: &str) -> Option<bool> {
    let mut letters = option.chars();
    let letter = letters.next()?;
    let rest = letters.as_str();
    let named = match letter {
        'a' | 'b' | 'e' | 'u' | 'p' | 'i' | 'C' | 'd' | 'r' | 'E' | 'v' | 'h' | 't' => {
            return Some(false);
        }
        'c' if "apitalize".starts_with(rest) && rest.len() > 1 => return Some(false),
        'c' => "ols",
        'g' => "roup",
        'l' => "en",
        'n' => "ame",
        'o' => "ffset",
        's' if "kip".starts_with(rest) && !rest.is_empty() => "kip",
        's' => "eek",
        'R' => "",
        _ => return None,
    };
    Some(
        rest.is_empty()
            || rest.starts_with(|each: char| each.is_ascii_lowercase()) && named.starts_with(rest),
    )
}
