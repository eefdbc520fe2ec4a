//! Operands of git and Subversion: revisions, paths and remotes.

use openoxide_protocol::CommandClass;

use super::super::{ArgumentWord, CommandMeaning, WordSource};

/// The reason of a question about a pathspec with magic or with an unusual pattern.
const UNKNOWN_PATHSPEC: &str = "its pathspec can name any file of the repository";

/// Adds the files that an operand reads. The repository determines which operands are paths, so
/// each operand except the plainest revisions is treated as a path. For `REVISION:PATH`, the path
/// is added.
pub(in super::super) fn add_revision(
    meaning: &mut CommandMeaning,
    arg: ArgumentWord<'_>,
    lists: bool,
) {
    let ArgumentWord::Known(operand) = arg else { return add_unknown_path(meaning, arg, lists) };
    if operand.contains(':') && operand.contains('{') {
        // The form `REVISION^{/:}:PATH` hides the path.
        meaning.lower_class(CommandClass::Unknown);
    }
    match operand.split_once(':') {
        None if is_plain_name(operand) => {}
        None => add_pathspec(meaning, arg, lists),
        // `:1:PATH` is a stage of the index and `:PATH` is the index itself. Anything else that
        // begins with a colon is a pattern.
        Some(("", staged)) if !staged.starts_with(['(', '!', '^', '/']) => {
            add_tree_path(meaning, staged.trim_start_matches(['0', '1', '2', '3', ':']), lists);
        }
        Some(("", _)) => add_pathspec(meaning, arg, lists),
        Some((_, path)) => add_tree_path(meaning, path, lists),
    }
}

/// Adds a path in a tree, which is not a pattern.
fn add_tree_path(meaning: &mut CommandMeaning, path: &str, lists: bool) {
    if path.contains(['*', '?', '[']) {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning.add_read(ArgumentWord::Known(if path.is_empty() { "." } else { path }), lists);
}

fn add_unknown_path(meaning: &mut CommandMeaning, arg: ArgumentWord<'_>, lists: bool) {
    match arg {
        ArgumentWord::Files(WordSource::Tokens) => {}
        ArgumentWord::Known(_) | ArgumentWord::Files(_) => meaning.add_read(arg, lists),
        ArgumentWord::Prefix(_) | ArgumentWord::Many => meaning.lower_class(CommandClass::Unknown),
    }
}

fn is_plain_name(operand: &str) -> bool {
    operand.strip_prefix("HEAD").or_else(|| operand.strip_prefix('@')).is_some_and(|rest| {
        rest.chars().all(|each| each.is_ascii_digit() || "~^@{}".contains(each))
    })
}

/// Adds the files that a pathspec reads: one file, or the files that a git pattern matches.
pub(in super::super) fn add_pathspec(
    meaning: &mut CommandMeaning,
    arg: ArgumentWord<'_>,
    lists: bool,
) {
    let ArgumentWord::Known(text) = arg else { return add_unknown_path(meaning, arg, lists) };
    if let Some(magic) = text.strip_prefix(':') {
        // A pattern that only excludes files reads less than the whole directory.
        if !is_exclude_pathspec(magic) {
            meaning.lower_class(CommandClass::Unknown);
            if !lists {
                // A rule that denies a file does not see that the pattern names it.
                meaning.add_unknown_effect(UNKNOWN_PATHSPEC);
            }
        }
        return meaning.add_read(ArgumentWord::Known("."), lists);
    }
    let Some(first) = text.find(['*', '?', '[', '\\']) else { return meaning.add_read(arg, lists) };
    if !lists && !is_common_pattern(text) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect(UNKNOWN_PATHSPEC);
    }
    let directory = text.get(..first).and_then(|before| before.rsplit_once('/'));
    let directory = directory.map_or(".", |(directory, _)| directory);
    meaning
        .add_read(ArgumentWord::Known(if directory.is_empty() { "/" } else { directory }), lists);
    // The text of a pattern shows which files it selects, such as `*.pem`.
    meaning.add_read(arg, lists);
}

/// Returns whether a pattern with magic only excludes files: `:!x`, `:^x`, `:(exclude)x`.
fn is_exclude_pathspec(magic: &str) -> bool {
    match magic.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((words, _)) => words.split(',').any(|word| word == "exclude"),
        None => magic.starts_with(['!', '^']),
    }
}

/// Returns whether a pattern matches everything in a directory or all files of a common kind, so
/// that it does not single out files with secrets. `*` also matches slashes and a leading dot.
fn is_common_pattern(pattern: &str) -> bool {
    if pattern.contains(['?', '[', '\\']) {
        return false;
    }
    let (directories, last) = pattern.rsplit_once('/').unwrap_or(("", pattern));
    let is_open =
        |part: &str| !part.contains('*') || matches!(part, "*" | "**") || has_plain_start(part);
    directories.split('/').all(is_open)
        && (matches!(last, "*" | "**") || is_source_file_pattern(last))
}

fn has_plain_start(part: &str) -> bool {
    part.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
}

/// Returns whether a name, which may contain a `*`, is a common name of a source or text file:
/// `*.rs`, `*_test.go`, `test_*.py`, `mod.rs`.
fn is_source_file_pattern(name: &str) -> bool {
    const ENDINGS: &str = "adoc astro bash bat c cc cfg cjs clj cmake cpp cs css cts csv cxx dart elm erl ex exs fish fs go \
        gql gradle graphql h hbs hh hpp hs html ini ipynb java jl js json jsx kt kts less lock lua m md mdx mjs mk ml mm mts \
        nix php pl proto ps1 py pyi r rb rs rst sass scala scss sh snap sol sql svelte svg swift tex tf toml ts tsx txt vb \
        vue xml yaml yml zig zsh";
    if !name.contains('*') {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    // `*nv.json` could be intended to match `.env.json`.
    let singles_out = stem.strip_prefix('*').is_some_and(|rest| {
        let first = rest.split('.').next().unwrap_or_default();
        !first.is_empty() && "env".ends_with(first)
    });
    let plain = stem.starts_with('*') || has_plain_start(stem);
    plain && !singles_out && ENDINGS.split_whitespace().any(|known| known == ending)
}

/// Adds a remote. An address such as `ext::sh -c x` runs the command in it.
pub(in super::super) fn add_remote(meaning: &mut CommandMeaning, arg: ArgumentWord<'_>) {
    let ArgumentWord::Known(text) = arg else { return meaning.lower_class(CommandClass::Unknown) };
    if names_helper_program(text) {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_unknown_effect("its address can run a program");
    } else if text.contains("://") {
        meaning.add_host(arg);
    } else if let Some((host, path)) = text.split_once(':').filter(|(host, _)| !host.contains('/'))
    {
        meaning.add_host(ArgumentWord::Known(&format!("ssh://{host}/{path}")));
    } else if text.contains('/') || text.starts_with('.') {
        meaning.lower_class(CommandClass::Unknown);
        meaning.add_read(arg, false);
        meaning.remotes.push(text.to_owned());
    } else if !text.is_empty() {
        // The configuration or the file system determines which repository this is.
        meaning.remotes.push(text.to_owned());
    }
}

/// Returns whether an address names a helper that git starts, or passes an option to ssh.
pub(super) fn names_helper_program(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host);
    address.contains("::") || host.rsplit('@').next().unwrap_or(host).starts_with('-')
}

/// Adds a file or address of Subversion, which may end with `@REVISION`.
pub(in super::super) fn add_peg_revision(meaning: &mut CommandMeaning, arg: ArgumentWord<'_>) {
    let ArgumentWord::Known(text) = arg else { return meaning.add_read(arg, false) };
    if text.contains("://") {
        return meaning.add_host(arg);
    }
    meaning.add_read(arg, false);
    if let Some((file, _)) = text.rsplit_once('@') {
        meaning.add_read(ArgumentWord::Known(if file.is_empty() { "." } else { file }), false);
    }
}
