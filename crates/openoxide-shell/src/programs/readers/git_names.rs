//! Readers for `git ls-files` and `git diff --name-only`: the files whose names they print.

use openoxide_protocol::FileSearch;

use super::super::{
    ArgumentWord, CommandMeaning, command_arguments::CommandArguments, command_items::CommandItem,
    command_reading::read_without_custom_reader,
};

/// Options of `git ls-files` with which it prints only names of the index.
const OPTIONS_FOR_INDEX: [&str; 8] =
    ["c", "cached", "m", "modified", "d", "deleted", "z", "deduplicate"];

/// Reads a `git ls-files` command. Without other options, it prints only files that git tracks, and
/// patterns such as `*.rs` limit them.
pub(in super::super) fn read_git_ls_files(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let prints_index = arguments.items().all(|item| match item {
        CommandItem::Option { option, .. } => OPTIONS_FOR_INDEX.contains(&option.name),
        CommandItem::Operand(..) => true,
        CommandItem::Number | CommandItem::Unclear => false,
    });
    let is_earlier = |item: CommandItem<'_>| match item {
        CommandItem::Option { option, .. } => {
            matches!(option.name, "with-tree" | "resolve-undo" | "recurse-submodules")
        }
        CommandItem::Operand(..) | CommandItem::Number => false,
        CommandItem::Unclear => true,
    };
    if let Some(search) = meaning.printed_files.as_deref_mut() {
        search.names_earlier_files = arguments.items().any(is_earlier);
        search.excluded_directories.push(".git".to_owned());
    }
    if let Some(search) = meaning.printed_files.as_deref_mut().filter(|_| prints_index) {
        search.tracked_only = true;
        let limits = arguments.operands().map(name_pattern).collect::<Option<Vec<_>>>();
        limit_names(search, limits.unwrap_or_default());
    }
    meaning
}

/// Reads a `git diff` command. With `--name-only` and no revision, it prints only files that git
/// tracks.
pub(in super::super) fn read_git_diff(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    let is_plain = arguments.items().all(|item| match item {
        CommandItem::Option { option, .. } => matches!(option.name, "name-only" | "diff-filter"),
        _ => false,
    });
    if let Some(search) = meaning.printed_files.as_deref_mut() {
        search.tracked_only = is_plain;
        search.names_earlier_files = !prints_current_names(arguments);
        search.excluded_directories.push(".git".to_owned());
    }
    meaning
}

/// Returns whether `git diff --name-only` prints only names that the working tree or the index
/// contains. Compared with a revision, it also prints the names of files that were removed since,
/// unless a filter excludes them.
fn prints_current_names(arguments: CommandArguments<'_>) -> bool {
    let (mut compares, mut excludes_removed) = (false, false);
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => match (option.name, value) {
                ("name-only" | "z" | "relative", _) => {}
                ("cached" | "staged", _) => compares = true,
                ("diff-filter", Some(ArgumentWord::Known(letters))) => {
                    excludes_removed = letters == "d"
                        || letters.bytes().all(|letter| b"ACMRTUX".contains(&letter));
                }
                _ => return false,
            },
            CommandItem::Operand(ArgumentWord::Known(word), _) if !word.contains("..") => {
                // A second operand can be a revision, too.
                if std::mem::replace(&mut compares, true) {
                    return false;
                }
            }
            _ => return false,
        }
    }
    !compares || excludes_removed
}

/// Limits a search to names that match one of these patterns, if there are any. A literal operand
/// can be the name of a directory that looks like a pattern.
fn limit_names(search: &mut FileSearch, patterns: Vec<String>) {
    if !patterns.is_empty() {
        search.include_patterns = patterns;
        search.includes_matching_directories = true;
    }
}

/// Returns the pattern for names of files of a pathspec such as `*.rs` or `src/**/*.rs`.
fn name_pattern(operand: ArgumentWord<'_>) -> Option<String> {
    let ArgumentWord::Known(text) = operand else { return None };
    let name = text.rsplit('/').next().unwrap_or(text);
    let ending = name.strip_prefix("*.")?;
    let is_plain = !ending.is_empty() && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_plain && !text.starts_with(':')).then(|| name.to_owned())
}
