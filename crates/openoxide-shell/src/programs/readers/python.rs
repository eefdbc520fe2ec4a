//! Python: a few of the standard library's modules only read and print.

use openoxide_protocol::CommandClass;

use super::super::{Arg, Arguments, Meaning, level::Level, reading::read_plainly};

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
    }
    meaning
}

/// Adds the file that is read and the one that is written; says whether there is none of the latter.
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

/// `pytest -p NAME` loads a plug-in, `-p no:NAME` switches one off.
pub(in super::super) fn pytest_plugin(meaning: &mut Meaning, option: &str, value: Option<Arg<'_>>) {
    let off = matches!(value, Some(Arg::Known(name)) if name.starts_with("no:"));
    if option == "p" && !off {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("loads a plug-in");
    }
}
