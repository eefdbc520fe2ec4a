//! Checks for programs that print only names of commits or process IDs.

use openoxide_protocol::CommandClass;

use super::super::{ArgumentWord, CommandMeaning, OutputKind, command_arguments::CommandArguments};

type OptionValues<'o> = [(&'o str, Option<ArgumentWord<'o>>)];

/// Returns whether `git log` prints only names of commits in this format. Options that only select
/// commits are accepted.
pub(in super::super) fn log_prints_tokens(
    options: &OptionValues<'_>,
    _: &[ArgumentWord<'_>],
) -> bool {
    const CHOOSE: &[&str] = &[
        "n",
        "max-count",
        "skip",
        "author",
        "committer",
        "since",
        "until",
        "after",
        "before",
        "grep",
        "i",
        "E",
        "F",
        "P",
        "S",
        "G",
        "all",
        "no-merges",
        "merges",
        "first-parent",
        "reverse",
        "follow",
        "date-order",
        "topo-order",
        "diff-filter",
        "abbrev",
        "s",
        "no-patch",
        "no-color",
    ];
    const FORMATS: &[&str] =
        &["%h", "%H", "%t", "%T", "format:%h", "format:%H", "tformat:%h", "tformat:%H"];
    let format = |name: &str| matches!(name, "format" | "pretty");
    options.iter().any(|(name, _)| format(name))
        && options.iter().all(|(name, value)| match value {
            Some(ArgumentWord::Known(value)) if format(name) => FORMATS.contains(value),
            _ => CHOOSE.contains(name),
        })
}

/// Returns whether `git merge-base` prints only names of commits.
pub(in super::super) fn merge_base_prints_tokens(
    options: &OptionValues<'_>,
    _: &[ArgumentWord<'_>],
) -> bool {
    options.iter().all(|(name, _)| matches!(*name, "a" | "all" | "octopus" | "fork-point"))
}

/// Returns whether `git rev-list` prints only names of commits, without marks and contents.
pub(in super::super) fn rev_list_prints_tokens(
    options: &OptionValues<'_>,
    _: &[ArgumentWord<'_>],
) -> bool {
    let choose = |name: &str| {
        matches!(
            name,
            "n" | "max-count"
                | "skip"
                | "all"
                | "no-merges"
                | "merges"
                | "first-parent"
                | "reverse"
                | "since"
                | "until"
                | "after"
                | "before"
                | "author"
                | "count"
                | "abbrev-commit"
        )
    };
    options.iter().all(|(name, _)| choose(name))
}

/// Returns whether a `git rev-parse` command prints only names of commits. It prints words that it
/// does not understand unchanged, and they can be names of files. It prints the end of a range with
/// a `^` before it. Therefore all words must be common names of commits.
pub(in super::super) fn read_rev_parse(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    let named = |arg| matches!(arg, ArgumentWord::Known(text) if is_common_revision(text) || matches!(text, "--short" | "--verify" | "-q" | "--quiet"));
    if arguments.words().all(named) {
        meaning.output = OutputKind::Tokens;
    }
    meaning
}

/// Returns whether a word names a commit in nearly every repository and is never the name of a
/// file.
fn is_common_revision(text: &str) -> bool {
    const NAMES: [&str; 10] = [
        "HEAD",
        "ORIG_HEAD",
        "FETCH_HEAD",
        "MERGE_HEAD",
        "main",
        "master",
        "origin/main",
        "origin/master",
        "origin/HEAD",
        "@",
    ];
    let name = text.find(['~', '^', '{']).map_or(text, |at| text.get(..at).unwrap_or(text));
    let after = text.get(name.len()..).unwrap_or_default();
    let name = if after.starts_with('{') { name.strip_suffix('@').unwrap_or(name) } else { name };
    (name.is_empty() || NAMES.contains(&name))
        && after != "^@"
        && after.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"~^{}".contains(&byte))
}

/// Returns whether `pgrep` has no options that print more than process IDs.
pub(in super::super) fn pgrep_prints_tokens(
    options: &OptionValues<'_>,
    _: &[ArgumentWord<'_>],
) -> bool {
    options.iter().all(|(name, _)| {
        !matches!(
            *name,
            "l" | "list-name" | "a" | "list-full" | "d" | "delimiter" | "q" | "quiet" | "V" | "h"
        )
    })
}
