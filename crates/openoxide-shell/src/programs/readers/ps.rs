//! Reader for `ps`. With an `e` in either of its two option syntaxes, it shows the environment of
//! processes.

use openoxide_protocol::{CommandWord, CommandWords};

use super::{
    super::{CommandMeaning, command_arguments::CommandArguments},
    HarmlessReads, harmless_meaning,
};

/// Reads a whole command.
pub(in super::super) fn read_ps(arguments: CommandArguments<'_>) -> CommandMeaning {
    harmless_meaning(check_options(arguments.argv.words))
}

/// Returns what a `ps` command reads, or `None` if it is not known to be harmless.
///
/// A command line that is invalid in the Unix syntax is parsed again in the BSD syntax, where `-e`
/// shows the environment. For example, `ps -e -u x` shows it if there is no user `x`. Therefore a
/// selection by name must not be combined with an `e`.
fn check_options(argv: &CommandWords) -> Option<HarmlessReads> {
    let mut words = argv.iter().skip(1);
    let (mut by_name, mut every) = (false, false);
    while let Some(word) = words.next() {
        let CommandWord::Known(text) = word else { return None };
        let value = match text.strip_prefix('-') {
            Some("aux" | "auxw" | "auxww") => false,
            Some("p" | "o" | "O") => true,
            Some("u" | "U" | "C" | "g" | "G" | "t") => {
                by_name = true;
                true
            }
            Some(option) if option.starts_with('-') => read_long_option(option)?,
            Some(letters) => {
                every |= letters.contains('e');
                read_unix_options(letters)?
            }
            None => read_bsd_options(text)?,
        };
        if value {
            let CommandWord::Known(value) = words.next()? else { return None };
            is_plain_list(value)?;
        }
    }
    (!(by_name && every)).then(HarmlessReads::default)
}

/// Returns whether the options take the next word as a value, or `None` if one of them is not
/// known.
fn read_unix_options(letters: &str) -> Option<bool> {
    let flags = letters.strip_suffix('o').unwrap_or(letters);
    // With `T` or `H` a selection can fail. `ps` then parses the line again in the BSD syntax,
    // where `e` shows the environment.
    let known = |each: char| "AadefFjlLMwyN".contains(each);
    (!letters.is_empty() && flags.chars().all(known)).then_some(flags.len() < letters.len())
}

fn read_bsd_options(letters: &str) -> Option<bool> {
    let flags = letters.strip_suffix(['o', 'p']).unwrap_or(letters);
    let known = |each: char| "aufjlmvwxhHTr".contains(each);
    (!letters.is_empty() && flags.chars().all(known)).then_some(flags.len() < letters.len())
}

fn read_long_option(option: &str) -> Option<bool> {
    match option.split_once('=') {
        Some(("-sort" | "-pid" | "-ppid" | "-format" | "-cols" | "-width", value)) => {
            is_plain_list(value).map(|()| false)
        }
        Some(_) => None,
        None => match option {
            "-forest" | "-headers" | "-no-headers" | "-no-heading" | "-version" => Some(false),
            "-sort" | "-pid" | "-ppid" | "-format" => Some(true),
            _ => None,
        },
    }
}

/// Checks a list of columns, numbers or names. A column can show the environment.
fn is_plain_list(value: &str) -> Option<()> {
    let column = |each: char| each.is_ascii_alphanumeric() || "_-+%,=: ".contains(each);
    (value.chars().all(column) && !value.to_ascii_lowercase().contains("env")).then_some(())
}
