//! Programs that print nothing but names of commits, or numbers of processes.

use openoxide_protocol::CommandClass;

use super::super::{Arg, Arguments, Meaning, Prints, level::Level};

type Options<'o> = [(&'o str, Option<Arg<'o>>)];

/// `git log`, in a format of nothing but names of commits. Options that only choose commits leave it so.
pub(in super::super) fn log(options: &Options<'_>, _: &[Arg<'_>]) -> bool {
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
            Some(Arg::Known(value)) if format(name) => FORMATS.contains(value),
            _ => CHOOSE.contains(name),
        })
}

/// `git merge-base`: names of commits, or nothing.
pub(in super::super) fn merge_base(options: &Options<'_>, _: &[Arg<'_>]) -> bool {
    options.iter().all(|(name, _)| matches!(*name, "a" | "all" | "octopus" | "fork-point"))
}

/// `git rev-list` without what marks or shows commits.
pub(in super::super) fn rev_list(options: &Options<'_>, _: &[Arg<'_>]) -> bool {
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

/// `git rev-parse`: what it does not understand it prints as it stands, and the end of a range with a `^` before it.
pub(in super::super) fn rev_parse(_: &Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let mut meaning = Meaning::of(CommandClass::Harmless);
    let plain = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '@')
            && !text.contains("..")
            && !text.contains("^@")
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"@~^{}/._-".contains(&byte))
    };
    let named = |arg| matches!(arg, Arg::Known(text) if plain(text) || matches!(text, "--short" | "--verify" | "-q" | "--quiet"));
    if arguments.iter(from).all(named) {
        meaning.prints = Prints::Tokens;
    }
    meaning
}

/// `pgrep` without the options that show more than numbers.
pub(in super::super) fn pgrep(options: &Options<'_>, _: &[Arg<'_>]) -> bool {
    options.iter().all(|(name, _)| {
        !matches!(
            *name,
            "l" | "list-name" | "a" | "list-full" | "d" | "delimiter" | "q" | "quiet" | "V" | "h"
        )
    })
}
