//! Readers for programs whose operands are texts, dates or numbers.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        ArgumentWord, CommandMeaning, command_arguments::CommandArguments,
        command_reading::read_without_custom_reader,
    },
    HarmlessReads, harmless_meaning,
};

/// Reads `exit`, `return`, `break` and `continue`. Some shells evaluate the operand as an
/// arithmetic expression, so it must be a number.
pub(in super::super) fn read_numeric_operand(arguments: CommandArguments<'_>) -> CommandMeaning {
    let digits =
        |arg| matches!(arg, ArgumentWord::Known(text) if !text.is_empty() && is_digits(text));
    let plain = arguments.len() <= 1 && arguments.words().all(digits);
    harmless_meaning(plain.then(HarmlessReads::default))
}

/// Returns whether the text contains only digits.
pub(super) fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads `cd`, which reads the metadata of one directory.
pub(in super::super) fn read_cd(arguments: CommandArguments<'_>) -> CommandMeaning {
    read_without_custom_reader(arguments)
}

/// Reads `export`, `declare` and similar builtins. Without a name, or with `-p`, they show
/// variables.
pub(in super::super) fn read_declaration(arguments: CommandArguments<'_>) -> CommandMeaning {
    let is_option = |arg: &ArgumentWord<'_>| matches!(arg, ArgumentWord::Known(text) if text.starts_with(['-', '+']));
    let shows = |arg| matches!(arg, ArgumentWord::Known(text) if text.starts_with('-') && text.contains('p'));
    let names = arguments.words().any(|arg| !is_option(&arg));
    let plain = names && !arguments.words().any(shows);
    harmless_meaning(plain.then(HarmlessReads::default))
}

/// Reads `set`. Without arguments it shows all variables.
pub(in super::super) fn read_set(arguments: CommandArguments<'_>) -> CommandMeaning {
    harmless_meaning((!arguments.is_empty()).then(HarmlessReads::default))
}

/// Reads `printf`. The builtin sets a variable with `-v` and `%n`, and some shells evaluate numbers
/// as arithmetic expressions.
pub(in super::super) fn read_printf(arguments: CommandArguments<'_>) -> CommandMeaning {
    harmless_meaning(check_format(arguments.argv.words, arguments.start))
}

fn check_format(argv: &CommandWords, from: usize) -> Option<HarmlessReads> {
    let mut words = argv.iter().skip(from);
    let format = match words.next()? {
        CommandWord::Known("--") => words.next()?,
        CommandWord::Known(text) if text.starts_with('-') => return None,
        word => word,
    };
    let CommandWord::Known(format) = format else { return None };
    let plain = |word| matches!(word, CommandWord::Known(text) if !text.contains(['[', '$', '`']));
    (!has_numeric_conversion(format)? || words.all(plain)).then(HarmlessReads::default)
}

/// Returns whether a conversion takes a number. Returns `None` if one is unknown or sets a
/// variable.
fn has_numeric_conversion(format: &str) -> Option<bool> {
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

/// Reads `date`. An operand other than a format would set the clock.
pub(in super::super) fn read_date(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let format = |arg| matches!(arg, ArgumentWord::Known(text) | ArgumentWord::Prefix(text) if text.starts_with(['+', '-']));
    let mut after = false;
    for arg in arguments.words() {
        let valued = matches!(
            arg,
            ArgumentWord::Known("-d" | "-f" | "-r" | "--date" | "--file" | "--reference")
        );
        if !after && !format(arg) {
            meaning.lower_class(CommandClass::Unknown);
        }
        after = valued;
    }
    meaning
}
