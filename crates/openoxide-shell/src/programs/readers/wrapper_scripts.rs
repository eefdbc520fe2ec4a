//! Readers for shell scripts around another program: `zgrep`, `bzdiff`, `zmore`.
//!
//! They join their words into commands for `eval` or split them at blanks, and their defects differ
//! between versions. The arguments of the wrapped program therefore do not show what the script
//! does. Only plain words and flags without values are understood.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        ArgumentWord, CommandMeaning, WordSource, command_arguments::CommandArguments,
        command_items::CommandItem, command_reading::read_without_custom_reader,
        command_spec::OptionEffect,
    },
    pagers::{read_diff, read_pager},
};

const SCRIPT_WORDS: &str = "it is a shell script, which may run parts of its words";

/// Reads `zgrep`, `zforce`, `zipgrep` and similar scripts.
pub(in super::super) fn read_wrapper_script(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    check_script_words(&mut meaning, arguments);
    meaning.add_compressed_names();
    meaning
}

/// Reads `zcat` and similar scripts, which also try the name with an extension.
pub(in super::super) fn read_wrapper_cat(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    meaning.add_compressed_names();
    meaning
}

/// Reads `zless`, `zmore` and similar scripts.
pub(in super::super) fn read_pager_script(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_pager(arguments);
    check_script_words(&mut meaning, arguments);
    meaning.add_compressed_names();
    meaning
}

/// Reads `zdiff`, `bzcmp` and similar scripts. With one operand, they compare it with the file of
/// the same name without its extension.
pub(in super::super) fn read_diff_script(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_diff(arguments);
    check_script_words(&mut meaning, arguments);
    meaning.add_compressed_names();
    let mut operands = arguments.operands();
    if let (Some(ArgumentWord::Known(file)), None) = (operands.next(), operands.next()) {
        for name in names_without_extension(file) {
            meaning.add_read(ArgumentWord::Known(&name), false);
        }
    }
    meaning
}

/// Returns the names with which `zdiff`, `xzdiff` and `bzdiff` compare a compressed file. The
/// extension begins with a dot or a hyphen. `xzdiff` replaces `.txz` by `.tar`, and `bzdiff`
/// removes any character before `bz2`.
fn names_without_extension(file: &str) -> Vec<String> {
    let mut names = Vec::new();
    if let Some(at) = file.rfind(['.', '-'])
        && let Some((stem, extension)) = file.split_at_checked(at)
        && !extension.contains('/')
    {
        names.push(stem.to_owned());
        if let Some(mark) = extension.get(..1).filter(|_| extension.get(1..2) == Some("t")) {
            names.push(format!("{stem}{mark}tar"));
        }
    }
    if let Some(stem) = file.strip_suffix("bz2") {
        let mut letters = stem.chars();
        letters.next_back();
        names.push(letters.as_str().to_owned());
        names.push(format!("{}.bz2", letters.as_str()));
    }
    names.retain(|name| !name.is_empty() && !name.ends_with('/'));
    names
}

/// Adds an unknown effect unless all words are plain and no option has a value.
fn check_script_words(meaning: &mut CommandMeaning, arguments: CommandArguments<'_>) {
    let name = arguments.called_name();
    let understood = |item| match item {
        CommandItem::Option { option, value } => {
            value.is_none() && matches!(option.effect, OptionEffect::Nothing | OptionEffect::Ends)
        }
        CommandItem::Operand(ArgumentWord::Known(text), _) => !text.starts_with('-'),
        CommandItem::Operand(..) | CommandItem::Number => true,
        CommandItem::Unclear => false,
    };
    let plain = arguments.words().all(|arg| is_plain_argument(arg, quotes_file_names(name)));
    if !plain || !arguments.items().all(understood) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(SCRIPT_WORDS);
    }
}

/// Returns whether a script treats file names as single words everywhere. `zgrep` of gzip and
/// `xzgrep` of xz do. `bzgrep` inserts them into a script of `sed`, and `bzdiff` splits them.
fn quotes_file_names(name: &str) -> bool {
    name.ends_with("grep") && (name.starts_with("xz") || name.starts_with("lz"))
        || matches!(name, "zgrep" | "zegrep" | "zfgrep")
}

/// Returns whether every evaluation of a word by a shell gives the same result, no matter where and
/// how often it occurs. With `files`, the file names that a pattern matches are accepted, too.
fn is_plain_argument(arg: ArgumentWord<'_>, files: bool) -> bool {
    match arg {
        ArgumentWord::Known(text) => is_plain_word(text),
        ArgumentWord::Files(source @ WordSource::Pattern(pattern)) => {
            let rest: String = pattern.chars().filter(|c| !matches!(c, '*' | '?')).collect();
            files && !source.may_look_like_option() && is_plain_word(&rest)
        }
        ArgumentWord::Files(_) | ArgumentWord::Prefix(_) | ArgumentWord::Many => false,
    }
}

fn is_plain_word(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/,+=:@".contains(&byte);
    !text.is_empty() && text.bytes().all(is_plain)
}
