//! Readers for pagers and other programs that display text.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{
        ArgumentWord, Argv, CommandEffect, CommandMeaning, OutputKind,
        command_arguments::CommandArguments, command_items::CommandItem,
        command_reading::read_without_custom_reader, command_spec::CommandSpec,
    },
    find_names::may_select_secrets,
    push_word,
    search_scope::{add_search, searches_directory_in_ugrep},
};

/// Reads commands of `less` and similar programs. They execute the text after a `+` as if it were
/// typed. Searches, line numbers and the end of the file are plain. A line break could end the
/// command that contains it.
pub(in super::super) fn read_pager(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let types = |arg| match arg {
        ArgumentWord::Known(text) => {
            text.contains(char::is_control) || is_unsafe_pager_command(text)
        }
        ArgumentWord::Prefix(text) => text.starts_with('+'),
        ArgumentWord::Files(_) | ArgumentWord::Many => false,
    };
    if arguments.words().any(types) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("it runs commands that it is given");
    }
    meaning
}

/// Returns whether a word is a `+` command that is not plain.
fn is_unsafe_pager_command(text: &str) -> bool {
    let Some(command) = text.strip_prefix('+') else { return false };
    let command = command.trim_start_matches('+');
    let end = matches!(command, "" | "g" | "G" | "F");
    let line = command.bytes().all(|byte| byte.is_ascii_digit());
    !(end || line || command.starts_with(['/', '?']))
}

/// Reads a `printenv NAME` command. It is harmless if it shows only variables that are not secret.
pub(in super::super) fn read_printenv(arguments: CommandArguments<'_>) -> CommandMeaning {
    let plain = |arg| {
        matches!(
            arg,
            ArgumentWord::Known(
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
    let some = arguments.words().next().is_some();
    if some && arguments.words().all(plain) {
        CommandMeaning::new(CommandClass::Harmless)
    } else {
        CommandMeaning::new_unknown()
    }
}

/// Options that print more than names, or names of hidden files.
const NON_NAME_OPTIONS: [&str; 31] = [
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

/// Reads commands such as `grep -l` and `rg --files`, whose output consists only of file names.
pub(in super::super) fn read_grep(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_following_links(arguments);
    let (mut names, mut other, mut operands) = (false, false, 0);
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => {
                add_included_files(&mut meaning, option.name, value);
                names |= matches!(
                    option.name,
                    "l" | "L" | "files" | "files-with-matches" | "files-without-match"
                );
                let recursive =
                    option.name == "r" && arguments.spec.find_option("recursive").is_some();
                other |= NON_NAME_OPTIONS.contains(&option.name) && !recursive;
            }
            CommandItem::Operand(..) => operands += 1,
            CommandItem::Number => {}
            CommandItem::Unclear => other = true,
        }
    }
    if names && !other && meaning.class == CommandClass::Harmless {
        // Without a path operand, the names are printed without `./`.
        let placed = operands > 0 && !reads_cwd(&meaning);
        meaning.output = OutputKind::FileNames { bare: !placed };
    }
    meaning.effects.extend(grep_invocation(arguments).map(CommandEffect::Runs));
    meaning
}

/// Returns whether an option makes the program follow links below a directory, such as `-L` of `rg`
/// and `-f` of `ag`.
fn is_follow_links_option(level: &CommandSpec, item: &CommandItem<'_>) -> bool {
    let CommandItem::Option { option, value: None } = item else { return false };
    let letter = matches!(option.name, "L" | "f") && level.find_option("follow").is_some();
    letter || matches!(option.name, "R" | "dereference-recursive" | "dereference" | "follow")
}

/// Reads a program with options that follow symbolic links.
pub(in super::super) fn read_following_links(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if matches!(arguments.called_name(), "grep" | "ugrep") && searches_directory_in_ugrep(arguments)
    {
        meaning.add_read(ArgumentWord::Known("."), false);
    }
    // Without a path, ugrep searches each entry of the working directory as if it were named.
    let names_entries = arguments.spec.name() == "ugrep";
    if names_entries || arguments.items().any(|item| is_follow_links_option(arguments.spec, &item))
    {
        meaning.follow_links();
    }
    add_search(&mut meaning, arguments);
    meaning
}

/// Reads a `diff` command. It follows symbolic links in the directories that it is given, and in
/// directories in which it looks for the name of a file. With `-r` it also follows links below
/// those.
pub(in super::super) fn read_diff(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    meaning.follow_links();
    meaning
}

/// Returns the `grep` command that the scripts `egrep`, `fgrep` and `rgrep` start, according to
/// egrep(1) of grep 3.8 and Debian's rgrep.
fn grep_invocation(arguments: CommandArguments<'_>) -> Option<Argv> {
    let option = match arguments.called_name() {
        "egrep" => "-E",
        "fgrep" => "-F",
        "rgrep" => "-r",
        _ => return None,
    };
    let mut words = CommandWords::new();
    ["grep", option].into_iter().for_each(|word| words.push(word));
    arguments.command_words().for_each(|word| push_word(&mut words, word));
    let paths = arguments.argv.paths.iter().filter(|(at, _)| *at >= arguments.start);
    let paths = paths.map(|(at, paths)| (at - arguments.start + 2, paths.clone())).collect();
    Some(Argv { words, paths })
}

/// Adds the files that an include pattern selects if they may contain secrets. Such files are
/// treated like named files.
fn add_included_files(meaning: &mut CommandMeaning, option: &str, value: Option<ArgumentWord<'_>>) {
    if let ("include" | "g" | "glob" | "iglob", Some(ArgumentWord::Known(pattern))) =
        (option, value)
    {
        let name = pattern.rsplit('/').next().unwrap_or_default();
        if !pattern.starts_with('!') && may_select_secrets(CommandWord::Known(name)) {
            meaning.add_read(ArgumentWord::Known(pattern), false);
        }
    }
}

fn reads_cwd(meaning: &CommandMeaning) -> bool {
    meaning.effects.iter().any(
        |effect| matches!(effect, CommandEffect::Reads(super::super::EffectTarget::File(file)) if file == "."),
    )
}
