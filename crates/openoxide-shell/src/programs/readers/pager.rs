//! Pagers, and what else shows things.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        Arg, Arguments, Argv, Effect, Meaning, Prints,
        items::{Item, items},
        level::Level,
        reading::read_plainly,
    },
    base_name,
    find::may_choose_secrets,
    push,
    search::add_search,
};

/// `less` and its like: what follows a `+` is typed into it. Searches, lines and the end are plain; a line break in a word
/// could end what it belongs to.
pub(in super::super) fn pager(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    let types = |arg| match arg {
        Arg::Known(text) => text.contains(char::is_control) || is_typed(text),
        Arg::Begins(text) => text.starts_with('+'),
        Arg::Paths(_) | Arg::Many => false,
    };
    if arguments.iter(from).any(types) {
        meaning.lower(CommandClass::Unknown);
        meaning.cannot_tell("it is given commands");
    }
    meaning
}

/// Returns whether a word is a `+` command that is not plain.
fn is_typed(text: &str) -> bool {
    let Some(command) = text.strip_prefix('+') else { return false };
    let command = command.trim_start_matches('+');
    let end = matches!(command, "" | "g" | "G" | "F");
    let line = command.bytes().all(|byte| byte.is_ascii_digit());
    !(end || line || command.starts_with(['/', '?']))
}

/// Reads a `printenv NAME` command. It is harmless if it shows only variables that are not secret.
pub(in super::super) fn printenv(
    _: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let plain = |arg| {
        matches!(
            arg,
            Arg::Known(
                "CI" | "COLUMNS"
                    | "DISPLAY"
                    | "EDITOR"
                    | "HOME"
                    | "HOSTNAME"
                    | "LANG"
                    | "LANGUAGE"
                    | "LC_ALL"
                    | "LC_CTYPE"
                    | "LINES"
                    | "LOGNAME"
                    | "NODE_ENV"
                    | "NO_COLOR"
                    | "OLDPWD"
                    | "PAGER"
                    | "PATH"
                    | "PWD"
                    | "SHELL"
                    | "SHLVL"
                    | "TERM"
                    | "TMPDIR"
                    | "TZ"
                    | "USER"
                    | "VIRTUAL_ENV"
                    | "VISUAL"
                    | "--help"
                    | "--version"
            )
        )
    };
    let some = arguments.iter(from).next().is_some();
    if some && arguments.iter(from).all(plain) {
        Meaning::of(CommandClass::Harmless)
    } else {
        Meaning::unknown()
    }
}

/// Options with which more is printed than names, or names of hidden files.
const OTHER: [&str; 31] = [
    ".",
    "c",
    "color",
    "colour",
    "count",
    "count-matches",
    "debug",
    "exclude-from",
    "f",
    "file",
    "generate",
    "hidden",
    "hyperlink-format",
    "ignore-file",
    "json",
    "label",
    "o",
    "only-matching",
    "p",
    "passthrough",
    "passthru",
    "path-separator",
    "pretty",
    "r",
    "replace",
    "stats",
    "trace",
    "type-list",
    "u",
    "unrestricted",
    "vimgrep",
];

/// `grep -l`, `rg --files`: what they print are names of files, and nothing else.
pub(in super::super) fn searches(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = linked(level, arguments, from);
    let (mut names, mut other, mut operands) = (false, false, 0);
    for item in items(level, arguments, from) {
        match item {
            Item::Option { option, value } => {
                includes(&mut meaning, option.name, value);
                names |= matches!(
                    option.name,
                    "l" | "L" | "files" | "files-with-matches" | "files-without-match"
                );
                let recursive = option.name == "r" && level.option("recursive").is_some();
                other |= OTHER.contains(&option.name) && !recursive;
            }
            Item::Operand(..) => operands += 1,
            Item::Number => {}
            Item::Unclear => other = true,
        }
    }
    if names && !other && meaning.class == CommandClass::Harmless {
        // Without a place they leave `./` out.
        let placed = operands > 0 && !reads_here(&meaning);
        meaning.prints = Prints::Paths { bare: !placed };
    }
    meaning.effects.extend(grep_inside(arguments, from).map(Effect::Runs));
    meaning
}

/// Returns whether an option makes the program follow links below a directory, such as `-L` of `rg`
/// and `-f` of `ag`.
fn follows_links(level: &Level, item: &Item<'_>) -> bool {
    let Item::Option { option, value: None } = item else { return false };
    let letter = matches!(option.name, "L" | "f") && level.option("follow").is_some();
    letter || matches!(option.name, "R" | "dereference-recursive" | "dereference" | "follow")
}

/// Programs with options that have links be followed.
pub(in super::super) fn linked(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    if items(level, arguments, from).any(|item| follows_links(level, &item)) {
        meaning.follow();
    }
    add_search(&mut meaning, level, arguments, from);
    meaning
}

/// `diff` follows the links in the directories that it is given, or in which it looks for the name of a file; with `-r` those
/// below them as well.
pub(in super::super) fn compares(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    let mut meaning = read_plainly(level, arguments, from);
    meaning.follow();
    meaning
}

/// Returns the `grep` that the scripts `egrep`, `fgrep` and `rgrep` start: egrep(1), grep 3.8; Debian's rgrep.
fn grep_inside(arguments: Arguments<'_>, from: usize) -> Option<Argv> {
    let name = base_name(arguments.known(from.checked_sub(1)?)?);
    let option = match name {
        "egrep" => "-E",
        "fgrep" => "-F",
        "rgrep" => "-r",
        _ => return None,
    };
    let mut words = CommandWords::new();
    ["grep", option].into_iter().for_each(|word| words.push(word));
    arguments.words.iter().skip(from).for_each(|word| push(&mut words, word));
    let paths = arguments.paths.iter().filter(|(at, _)| *at >= from);
    let paths = paths.map(|(at, paths)| (at - from + 2, paths.clone())).collect();
    Some(Argv { words, paths })
}

/// Files that a pattern takes in, and that may hold secrets, are as good as named.
fn includes(meaning: &mut Meaning, option: &str, value: Option<Arg<'_>>) {
    if let ("include" | "g" | "glob" | "iglob", Some(Arg::Known(pattern))) = (option, value) {
        let name = pattern.rsplit('/').next().unwrap_or_default();
        if !pattern.starts_with('!') && may_choose_secrets(CommandWord::Known(name)) {
            meaning.read(Arg::Known(pattern), false);
        }
    }
}

fn reads_here(meaning: &Meaning) -> bool {
    meaning.effects.iter().any(
        |effect| matches!(effect, Effect::Reads(super::super::Target::File(file)) if file == "."),
    )
}
