//! Programs whose operands are texts, dates or numbers.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{Arg, Arguments, Meaning, level::Level, reading::read_plainly},
    Known, harmless,
};

/// `exit`, `return`, `break`, `continue`: some shells compute their operand, so it must be a number.
pub(in super::super) fn number(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let digits = |arg| matches!(arg, Arg::Known(text) if !text.is_empty() && is_digits(text));
    let plain = arguments.words.len() <= from + 1 && arguments.iter(from).all(digits);
    harmless(plain.then(Known::default))
}

/// Returns whether there are only digits.
pub(super) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `cd`: looks at one directory.
pub(in super::super) fn change_directory(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    read_plainly(level, arguments, from)
}

/// `export`, `declare` and their like: without a name, or with `-p`, they show variables.
pub(in super::super) fn declares(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let is_option = |arg: &Arg<'_>| matches!(arg, Arg::Known(text) if text.starts_with(['-', '+']));
    let shows =
        |arg| matches!(arg, Arg::Known(text) if text.starts_with('-') && text.contains('p'));
    let names = arguments.iter(from).any(|arg| !is_option(&arg));
    let plain = names && !arguments.iter(from).any(shows);
    harmless(plain.then(Known::default))
}

/// `set`: alone it shows every variable.
pub(in super::super) fn set(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    harmless((arguments.words.len() > from).then(Known::default))
}

/// `printf`: as a builtin, `-v` and `%n` set a variable, and some shells compute the numbers.
pub(in super::super) fn printf(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    harmless(prints(arguments.words, from))
}

fn prints(argv: &CommandWords, from: usize) -> Option<Known> {
    let mut words = argv.iter().skip(from);
    let format = match words.next()? {
        CommandWord::Known("--") => words.next()?,
        CommandWord::Known(text) if text.starts_with('-') => return None,
        word => word,
    };
    let CommandWord::Known(format) = format else { return None };
    let plain = |word| matches!(word, CommandWord::Known(text) if !text.contains(['[', '$', '`']));
    (!computes(format)? || words.all(plain)).then(Known::default)
}

/// Returns whether a conversion takes a number, or `None` if one is unknown or sets a variable.
fn computes(format: &str) -> Option<bool> {
    let mut computes = false;
    let mut rest = format;
    while let Some((_, conversion)) = rest.split_once('%') {
        let end =
            conversion.trim_start_matches(|each: char| "-+ #0123456789.'hlLjzt*".contains(each));
        let width = conversion.len() - end.len();
        computes |= conversion.get(..width)?.contains('*');
        let mut letters = end.chars();
        match letters.next()? {
            '%' | 's' | 'b' | 'q' | 'Q' | 'c' => {}
            '(' => letters = letters.as_str().split_once(")T")?.1.chars(),
            letter if "diouxXeEfFgGaA".contains(letter) => computes = true,
            _ => return None,
        }
        rest = letters.as_str();
    }
    Some(computes)
}

/// `date`: shows a date; any operand but a format would set the clock.
pub(in super::super) fn date(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let format =
        |arg| matches!(arg, Arg::Known(text) | Arg::Begins(text) if text.starts_with(['+', '-']));
    let mut after = false;
    for arg in arguments.iter(from) {
        let valued =
            matches!(arg, Arg::Known("-d" | "-f" | "-r" | "--date" | "--file" | "--reference"));
        if !after && !format(arg) {
            meaning.lower(CommandClass::Unknown);
        }
        after = valued;
    }
    meaning
}
