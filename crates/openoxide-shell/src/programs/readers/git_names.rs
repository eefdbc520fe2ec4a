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
    // What follows `--` are paths.
    let paths = arguments.words().skip_while(|word| *word != ArgumentWord::Known("--")).skip(1);
    let operands = arguments.operands().count().saturating_sub(paths.count());
    let (mut compares, mut filter) = (false, String::new());
    for item in arguments.items() {
        match item {
            CommandItem::Option { option, value } => match (option.name, value) {
                ("name-only" | "z" | "relative", _) => {}
                ("cached" | "staged", _) => compares = true,
                // Git puts the letters of several filters together.
                ("diff-filter", Some(ArgumentWord::Known(letters))) => filter.push_str(letters),
                _ => return false,
            },
            CommandItem::Operand(..) => {}
            CommandItem::Number | CommandItem::Unclear => return false,
        }
    }
    let revisions: Vec<_> = arguments.operands().take(operands).collect();
    match revisions.as_slice() {
        [] => {}
        [ArgumentWord::Known(word)] if is_one_revision(word) => compares = true,
        _ => return false,
    }
    !compares || excludes_removed(&filter)
}

/// Returns whether a word is at most one revision: `A..B`, `A^!`, `A^-` and `A^@` are several.
fn is_one_revision(word: &str) -> bool {
    !["..", "^!", "^-", "^@"].iter().any(|several| word.contains(several))
}

/// Returns whether a filter of `git diff` excludes removed files.
fn excludes_removed(filter: &str) -> bool {
    filter == "d" || !filter.is_empty() && filter.bytes().all(|letter| b"ACMRTUX".contains(&letter))
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
