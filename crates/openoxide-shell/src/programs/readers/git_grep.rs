//! Reader for `git grep`.

use openoxide_protocol::FileSearch;

use super::{
    super::{
        ArgumentWord, CommandEffect, CommandMeaning, EffectTarget,
        command_arguments::CommandArguments, command_items::CommandItem,
        command_reading::read_without_custom_reader,
    },
    search_scope::read_targets,
};

/// Reads a `git grep` command. It searches the files that git tracks, and other files if an option
/// requests this.
pub(in super::super) fn read_git_grep(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = read_without_custom_reader(arguments);
    if let Some(search) = meaning.printed_files.as_deref_mut() {
        search.names_earlier_files = may_name_revision(arguments);
        search.excluded_directories.push(".git".to_owned());
    }
    let has = |names: &[&str]| {
        arguments.items()
            .any(|item| matches!(item, CommandItem::Option { option, .. } if names.contains(&option.name)))
    };
    if has(&["l", "L", "files-with-matches", "name-only", "files-without-match", "c", "count"])
        || has(&["q", "quiet"])
    {
        return meaning;
    }
    let search = FileSearch {
        includes_hidden: true,
        includes_ignored: has(&["no-index", "no-exclude-standard"]) && !has(&["exclude-standard"]),
        excluded_directories: vec![".git".to_owned()],
        tracked_only: !has(&["no-index", "untracked", "recurse-submodules"]),
        ..FileSearch::default()
    };
    let mut targets = read_targets(&meaning);
    // A pathspec with magic can name any file of the repository.
    let is_magic = |target: &EffectTarget| match target {
        EffectTarget::File(name) | EffectTarget::Pattern(name) => name.starts_with(':'),
        _ => false,
    };
    if targets.is_empty() || targets.iter().any(is_magic) {
        targets.push(EffectTarget::File(".".to_owned()));
    }
    let searches =
        targets.into_iter().map(|target| CommandEffect::Searches(target, search.clone()));
    meaning.effects.extend(searches);
    meaning
}

/// Returns whether the names can be those of a revision, as with `git grep -l TEXT REVISION`, or
/// those of a submodule.
fn may_name_revision(arguments: CommandArguments<'_>) -> bool {
    let has = |names: &[&str]| {
        arguments.items().any(|item| {
            matches!(item, CommandItem::Option { option, .. } if names.contains(&option.name))
        })
    };
    let after = arguments.words().skip_while(|word| *word != ArgumentWord::Known("--")).skip(1);
    let operands = arguments.items().filter(|item| !matches!(item, CommandItem::Option { .. }));
    let revisions = operands.count().saturating_sub(after.count());
    has(&["recurse-submodules"]) || revisions > usize::from(!has(&["e", "f"]))
}
