//! Programs that are harmless in some of their uses only.

use openoxide_protocol::{CommandClass, Word, Words};

use super::{
    super::{Arg, Arguments, Meaning, level::Level, meaning::read_plainly},
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

/// `strings`: an operand `@FILE` is a file with more options.
pub(in super::super) fn strings(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if arguments.iter(from).any(|arg| matches!(arg, Arg::Known(text) if text.starts_with('@'))) {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// `tput`: capabilities that only print; `init` and `reset` run what the terminal's description says.
pub(in super::super) fn tput(_: &Level, arguments: Arguments<'_>, _: usize) -> Meaning {
    harmless(shows_capability(arguments.words))
}

fn shows_capability(argv: &Words) -> Option<Known> {
    const PRINTING: [&str; 20] = [
        "bel", "blink", "bold", "civis", "clear", "cnorm", "colors", "cols", "cup", "dim", "el",
        "lines", "op", "rev", "rmul", "setab", "setaf", "sgr0", "smso", "smul",
    ];
    let number = |word| matches!(word, Word::Known(text) if is_digits(text));
    (PRINTING.contains(&argv.known(1)?) && argv.iter().skip(2).all(number)).then(Known::default)
}

/// `xxd`: reads its first operand and writes its second. It looks at two letters of each option, whatever follows, so
/// only options of two letters are certain.
pub(in super::super) fn xxd(_: &Level, arguments: Arguments<'_>, _: usize) -> Meaning {
    harmless(dumps(arguments.words))
}

fn dumps(argv: &Words) -> Option<Known> {
    let mut known = Known::default();
    let mut words = argv.iter().skip(1);
    let mut files = 0;
    while let Some(word) = words.next() {
        let Word::Known(text) = word else { return None };
        let number = match text {
            "-a" | "-b" | "-e" | "-u" | "-d" | "-p" | "-ps" | "-i" | "-E" | "-C" => continue,
            "-c" | "-g" | "-l" | "-s" | "-o" => words.next()?,
            _ if text.starts_with('-') && text != "-" => {
                let attached = ["-c", "-g", "-l", "-s", "-o"];
                Word::Known(attached.iter().find_map(|option| text.strip_prefix(option))?)
            }
            file => {
                files += 1;
                known.read(file);
                continue;
            }
        };
        let Word::Known(number) = number else { return None };
        is_offset(number).then_some(())?;
    }
    (files <= 1).then_some(known)
}

fn is_offset(number: &str) -> bool {
    let digits = number.trim_start_matches(['+', '-']);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'x')
}
