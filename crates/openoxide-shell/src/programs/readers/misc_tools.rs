//! Readers for programs that are harmless only in some of their uses.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        ArgumentWord, CommandMeaning, command_arguments::CommandArguments,
        command_reading::read_without_custom_reader,
    },
    HarmlessReads, harmless_meaning,
    printing_builtins::is_digits,
};

/// Reads the `command` builtin. `command -v NAME` and `command -V NAME` only print. Without these
/// options, it runs its operands.
pub(in super::super) fn read_command_builtin(arguments: CommandArguments<'_>) -> CommandMeaning {
    match arguments.known_argument(0) {
        Some("-v" | "-V") => CommandMeaning::new(CommandClass::Harmless),
        _ => read_without_custom_reader(arguments),
    }
}

/// Adds the file of `clang-format -style=file:FILE`. The program reads that file and prints the
/// lines that it does not understand.
pub(in super::super) fn add_style_file(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    match value {
        _ if name != "style" => {}
        Some(ArgumentWord::Known(text)) => {
            if let Some(file) = text.strip_prefix("file:") {
                meaning.add_read(ArgumentWord::Known(file), false);
            }
        }
        _ => meaning.lower_class(CommandClass::Unknown),
    }
}

/// Reads a `strings` command. An operand `@FILE` is a file with more options.
pub(in super::super) fn read_strings(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if arguments
        .words()
        .any(|arg| matches!(arg, ArgumentWord::Known(text) if text.starts_with('@')))
    {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("its options are in a file");
    }
    meaning
}

/// Reads a `tput` command. It is harmless with capabilities that only print. `init` and `reset` run
/// programs from the terminal's description.
pub(in super::super) fn read_tput(arguments: CommandArguments<'_>) -> CommandMeaning {
    harmless_meaning(shows_capability(arguments.argv.words))
}

fn shows_capability(argv: &CommandWords) -> Option<HarmlessReads> {
    const PRINTING: [&str; 20] = [
        "bel", "blink", "bold", "civis", "clear", "cnorm", "colors", "cols", "cup", "dim", "el",
        "lines", "op", "rev", "rmul", "setab", "setaf", "sgr0", "smso", "smul",
    ];
    let number = |word| matches!(word, CommandWord::Known(text) if is_digits(text));
    (PRINTING.contains(&argv.known_word(1)?) && argv.iter().skip(2).all(number))
        .then(HarmlessReads::default)
}

/// Reads an `xxd` command. It reads its first operand and writes its second. It evaluates two
/// letters of each option, and options come first.
pub(in super::super) fn read_xxd(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(arguments.spec.class);
    let mut words = arguments.words().peekable();
    while let Some(arg) = words.next_if(|arg| !matches!(arg, ArgumentWord::Known("-"))) {
        let option = match arg {
            ArgumentWord::Known(text) if text.starts_with('-') => text,
            _ => {
                add_dump_files(&mut meaning, arg, words);
                return meaning;
            }
        };
        let option = option.strip_prefix("--").unwrap_or(option).trim_start_matches('-');
        match option_takes_value(option) {
            Some(true) => drop(words.next()),
            Some(false) => {}
            None => meaning.lower_class(CommandClass::Unknown),
        }
    }
    if let Some(arg) = words.next() {
        add_dump_files(&mut meaning, arg, words);
    }
    meaning
}

fn add_dump_files<'a>(
    meaning: &mut CommandMeaning,
    first: ArgumentWord<'a>,
    mut rest: impl Iterator<Item = ArgumentWord<'a>>,
) {
    meaning.add_read(first, false);
    if let ArgumentWord::Files(_) | ArgumentWord::Many = first {
        meaning.add_write(ArgumentWord::Many);
    }
    rest.next().into_iter().for_each(|output| meaning.add_write(output));
    if rest.next().is_some() {
        meaning.lower_class(CommandClass::Unknown);
    }
}

/// Returns whether the next word belongs to an option, or `None` if there is no such option.
fn option_takes_value(option: &str) -> Option<bool> {
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

/// Reads a `node --check FILE` command. A directory, or a name without an extension, leads to
/// another file.
pub(in super::super) fn read_node(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_script = |arg| match arg {
        ArgumentWord::Known(text) => {
            [".js", ".cjs", ".mjs", ".ts", ".cts", ".mts"].iter().any(|end| text.ends_with(end))
        }
        _ => false,
    };
    if arguments.operands().next().is_some_and(|arg| !is_script(arg)) {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}
