//! Readers for Python. A few modules of the standard library only read and print.

use openoxide_protocol::{CommandClass, CommandWord};

use super::{
    super::{
        ArgumentWord, CommandMeaning, command_arguments::CommandArguments,
        command_items::CommandItem, command_reading::read_without_custom_reader,
    },
    covered_tools::add_module,
};

/// Reads a `python3 …` command. `-m json.tool FILE [OUT]` writes its second operand. `-I` prevents
/// the working directory from shadowing the module. Without `-I` the module may be found there, so
/// the command is not harmless.
pub(in super::super) fn read_python(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let mut words = arguments.words().skip_while(|arg| *arg != ArgumentWord::Known("-m"));
    if words.nth(1) == Some(ArgumentWord::Known("json.tool")) {
        let isolated = arguments.known_argument(0) == Some("-I");
        let files =
            words.filter(|arg| !matches!(arg, ArgumentWord::Known(text) if text.starts_with('-')));
        let plain = add_json_tool_files(&mut meaning, files);
        if isolated && plain {
            meaning.class = CommandClass::Harmless;
        }
        return meaning;
    }
    add_run_module(&mut meaning, arguments);
    meaning
}

/// Adds the module of `-m`. `-m pytest` is read like `pytest`.
fn add_run_module(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) {
    let mut items = arguments.items();
    while let Some(item) = items.next() {
        let CommandItem::Option { option, value } = item else {
            if matches!(item, CommandItem::Operand(..)) { return } else { continue }
        };
        if !matches!(option.name, "m" | "module") {
            continue;
        }
        let module = match value {
            Some(ArgumentWord::Known(module)) => CommandWord::Known(module),
            _ => CommandWord::AnyWords,
        };
        return add_module(
            meaning,
            module,
            &arguments.argv.tail_from(items.count_consumed_words()),
        );
    }
}

/// Adds the file that is read and the file that is written. Returns whether no file is written.
fn add_json_tool_files<'a>(
    meaning: &mut CommandMeaning,
    mut files: impl Iterator<Item = ArgumentWord<'a>>,
) -> bool {
    if let Some(file) = files.next() {
        meaning.add_read(file, false);
    }
    match files.next() {
        Some(file) => {
            meaning.add_write(file);
            false
        }
        None => true,
    }
}

/// Settings of pytest that neither load nor write anything.
const HARMLESS_PYTEST_SETTINGS: [&str; 12] = [
    "asyncio_mode",
    "console_output_style",
    "faulthandler_timeout",
    "junit_family",
    "log_cli",
    "log_cli_format",
    "log_cli_level",
    "log_format",
    "log_level",
    "markers",
    "timeout",
    "xfail_strict",
];

/// Adds the effects of options of pytest. `-p NAME` loads a plug-in, and `-p no:NAME` disables one.
/// `-o` overrides a setting of the configuration, and `--cov-report KIND:FILE` writes a file.
pub(in super::super) fn add_pytest_option(
    meaning: &mut CommandMeaning,
    option: &str,
    value: Option<ArgumentWord<'_>>,
) {
    let text = match value {
        Some(ArgumentWord::Known(text)) => Some(text),
        _ => None,
    };
    let off = matches!(value, Some(ArgumentWord::Known(name)) if name.starts_with("no:"));
    let setting = text.and_then(|text| text.split_once('='));
    if matches!(option, "o" | "override-ini")
        && !setting.is_some_and(|(name, _)| HARMLESS_PYTEST_SETTINGS.contains(&name))
    {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("overrides a setting that can load code or write files");
    }
    if option == "cov-report" {
        match value {
            Some(ArgumentWord::Known(text)) => {
                let file = text.split_once(':').map(|(_, file)| file);
                file.into_iter().for_each(|file| meaning.add_write(ArgumentWord::Known(file)));
            }
            _ => meaning.add_write(ArgumentWord::Many),
        }
    }
    if option == "p" && !off {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("loads a plug-in");
    }
}
