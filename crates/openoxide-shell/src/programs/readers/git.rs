//! Operands and options of git: revisions, paths, remotes and formats.

use openoxide_protocol::CommandClass;

use super::{
    super::{
        ArgumentWord, CommandMeaning, command_arguments::CommandArguments,
        command_reading::read_without_custom_reader,
    },
    git_operands::add_remote,
};

/// Reads `git clone` and `git submodule add`. Without a directory operand, the address determines
/// the directory that is created.
pub(in super::super) fn git_clone(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let operands = arguments.operands();
    if let [ArgumentWord::Known(address)] = operands.collect::<Vec<_>>().as_slice()
        && let Some(directory) = default_directory(address)
    {
        meaning.add_write(ArgumentWord::Known(directory));
    }
    meaning
}

/// Returns the directory that git creates for a repository: the last part of its address that is
/// not `.git`.
fn default_directory(address: &str) -> Option<&str> {
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix("/.git").unwrap_or(address).trim_end_matches('/');
    let last = address.rsplit(['/', ':']).next()?;
    let last = last.strip_suffix(".git").or_else(|| last.strip_suffix(".bundle")).unwrap_or(last);
    (!last.is_empty()).then_some(last)
}

/// Adds the remote that an option names.
pub(in super::super) fn add_remote_option(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    if matches!(name, "remote" | "repo" | "bundle-uri") {
        add_remote(meaning, value.unwrap_or(ArgumentWord::Many));
    }
}

/// Adds the program `git-merge-NAME` that `--strategy=NAME` runs. If the name contains a slash, the
/// program is one in the working directory.
pub(in super::super) fn merge_strategy(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    // `-s` without a value is `--signoff`.
    if !matches!((name, value), ("s", Some(_)) | ("strategy", _)) {
        return;
    }
    let is_name = |text: &str| !text.is_empty() && !text.contains('/');
    if !matches!(value, Some(ArgumentWord::Known(text)) if is_name(text)) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("its strategy names a program");
    }
}

/// Adds the file of `-L 10,20:FILE` or `-L :FUNCTION:FILE`.
pub(in super::super) fn add_line_range(
    meaning: &mut CommandMeaning,
    name: &str,
    value: Option<ArgumentWord<'_>>,
) {
    if name != "L" {
        return;
    }
    let Some(ArgumentWord::Known(range)) = value else {
        return meaning.lower_class(CommandClass::Unknown);
    };
    let function = range.strip_prefix(':').or_else(|| range.strip_prefix("^:"));
    let file = match function {
        Some(rest) => rest.split_once(':'),
        None => range.split_once(':'),
    };
    match file {
        Some((_, file)) if !file.contains(':') => {
            meaning.add_read(ArgumentWord::Known(file), false);
        }
        _ => meaning.lower_class(CommandClass::Unknown),
    }
}

/// Checks output formats. They can request a check of signatures, which runs a program, and a diff
/// of submodules runs git in them.
pub(in super::super) fn is_harmless_log_option(
    name: &str,
    value: Option<ArgumentWord<'_>>,
) -> bool {
    match (name, value) {
        ("submodule", None | Some(ArgumentWord::Known("log" | "short"))) => true,
        ("submodule", Some(_))
        | ("format", Some(ArgumentWord::Prefix(_) | ArgumentWord::Many | ArgumentWord::Files(_))) => {
            false
        }
        ("pretty", Some(ArgumentWord::Prefix(_) | ArgumentWord::Many | ArgumentWord::Files(_))) => {
            false
        }
        ("format" | "pretty", Some(ArgumentWord::Known(text))) => {
            let built_in = matches!(
                text,
                "" | "oneline"
                    | "short"
                    | "medium"
                    | "full"
                    | "fuller"
                    | "reference"
                    | "email"
                    | "mboxrd"
                    | "raw"
            );
            built_in || text.contains(['%', ':']) && !checks_signatures(text)
        }
        ("sort" | "group", Some(ArgumentWord::Known(text))) => !checks_signatures(text),
        ("sort" | "group", Some(_)) => false,
        _ => true,
    }
}

/// Returns whether a format may contain `%G` in one of its spellings, such as `%+G?` or `%-G?` or
/// `% G?`.
fn checks_signatures(text: &str) -> bool {
    text.contains("signature")
        || text
            .split('%')
            .skip(1)
            .any(|after| after.trim_start_matches(['+', '-', ' ']).starts_with('G'))
}
