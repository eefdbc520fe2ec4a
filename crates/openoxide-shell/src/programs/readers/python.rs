//! Python: a few of the standard library's modules only read and print.

use openoxide_protocol::{CommandClass, CommandWord};

use super::{
    super::{
        Arg, Arguments, Meaning,
        items::{Item, items},
        level::Level,
        reading::read_plainly,
    },
    tool::add_module,
};

/// `python3 …`. `-m json.tool FILE [OUT]` writes its second operand; `-I` keeps the working directory from shadowing it,
/// but the module is found there otherwise, so it stays a question.
pub(in super::super) fn python(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let mut words = arguments.iter(from).skip_while(|arg| *arg != Arg::Known("-m"));
    if words.nth(1) == Some(Arg::Known("json.tool")) {
        let isolated = arguments.known(from) == Some("-I");
        let files = words.filter(|arg| !matches!(arg, Arg::Known(text) if text.starts_with('-')));
        let plain = formats(&mut meaning, files);
        if isolated && plain {
            meaning.class = CommandClass::Harmless;
        }
        return meaning;
    }
    add_run_module(&mut meaning, level, arguments, from);
    meaning
}

/// Adds the module of `-m`: `-m pytest` is read as `pytest` is.
fn add_run_module(
    meaning: &mut Meaning,
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) {
    let mut items = items(level, arguments, from);
    while let Some(item) = items.next() {
        let Item::Option { option, value } = item else {
            if matches!(item, Item::Operand(..)) { return } else { continue }
        };
        if !matches!(option.name, "m" | "module") {
            continue;
        }
        let module = match value {
            Some(Arg::Known(module)) => CommandWord::Known(module),
            _ => CommandWord::AnyWords,
        };
        return add_module(meaning, module, &arguments.tail(items.consumed()));
    }
}

/// Adds the file that is read and the file that is written. Returns whether no file is written.
fn formats<'a>(meaning: &mut Meaning, mut files: impl Iterator<Item = Arg<'a>>) -> bool {
    if let Some(file) = files.next() {
        meaning.read(file, false);
    }
    match files.next() {
        Some(file) => {
            meaning.write(file);
            false
        }
        None => true,
    }
}

/// Settings of pytest that neither load nor write anything.
const SETTINGS: [&str; 12] = [
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

/// `pytest -p NAME` loads a plug-in, `-p no:NAME` switches one off. `-o` overrides a setting of the configuration, and
/// `--cov-report KIND:FILE` writes.
pub(in super::super) fn pytest_option(meaning: &mut Meaning, option: &str, value: Option<Arg<'_>>) {
    let text = match value {
        Some(Arg::Known(text)) => Some(text),
        _ => None,
    };
    let off = matches!(value, Some(Arg::Known(name)) if name.starts_with("no:"));
    let setting = text.and_then(|text| text.split_once('='));
    if matches!(option, "o" | "override-ini")
        && !setting.is_some_and(|(name, _)| SETTINGS.contains(&name))
    {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("overrides a setting that can load code or write files");
    }
    if option == "cov-report" {
        match value {
            Some(Arg::Known(text)) => {
                let file = text.split_once(':').map(|(_, file)| file);
                file.into_iter().for_each(|file| meaning.write(Arg::Known(file)));
            }
            _ => meaning.write(Arg::Many),
        }
    }
    if option == "p" && !off {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("loads a plug-in");
    }
}
