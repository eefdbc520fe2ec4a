//! Commands that Codex treats as dangerous: a forced `rm`, also after `sudo`, `env` or `trap` and
//! in scripts.

use super::{dialect::CodexDialect, script_commands};

/// The maximum depth of nested wrappers that are analysed.
const MAX_DEPTH: usize = 8;

/// The reason why a command is dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DangerKind {
    /// The command removes files without a confirmation.
    ForcedRemoval,
    /// The command is nested in too many wrappers to be analysed.
    TooDeep,
}

/// Returns why a command is dangerous, if it is.
pub(super) fn find_danger(argv: &[String], dialect: CodexDialect) -> Option<DangerKind> {
    find_danger_at_depth(argv, 0, dialect)
}

/// Returns why a command at a nesting depth is dangerous. Commands that are nested too deeply are
/// dangerous only since August 2026; before that they were ignored.
fn find_danger_at_depth(
    argv: &[String],
    depth: usize,
    dialect: CodexDialect,
) -> Option<DangerKind> {
    if depth > MAX_DEPTH {
        return (dialect != CodexDialect::V0145).then_some(DangerKind::TooDeep);
    }
    let (program, arguments) = argv.split_first()?;
    // `rm/` is not treated as `rm`.
    match program.rsplit('/').next().unwrap_or_default() {
        "rm" if has_force_option(arguments) => Some(DangerKind::ForcedRemoval),
        "sudo" => find_danger_at_depth(arguments, depth + 1, dialect),
        "env" => find_danger_at_depth(strip_env(arguments), depth + 1, dialect),
        "trap" => find_script_danger(find_subcommand(arguments)?, depth + 1, dialect),
        _ => find_script_danger(script_commands::extract_script(argv)?, depth, dialect),
    }
}

fn find_script_danger(script: &str, depth: usize, dialect: CodexDialect) -> Option<DangerKind> {
    if cannot_be_dangerous(script, depth) {
        return None;
    }
    let commands = script_commands::read_all_commands(script)?;
    commands.iter().find_map(|words| find_danger_at_depth(words, depth + 1, dialect))
}

/// Returns true if a script cannot be dangerous, without parsing it: it does not contain the
/// letters of `rm`, not even with quotes between them, and it has too few wrappers to be nested too
/// deeply. One wrapper accounts for at most two levels. The result is true for most scripts.
fn cannot_be_dangerous(script: &str, depth: usize) -> bool {
    let bare: String = script.chars().filter(|c| !"'\"\\\n".contains(*c)).collect();
    let wrappers: usize =
        ["sudo", "env", "trap", "sh"].iter().map(|name| bare.matches(name).count()).sum();
    !bare.contains("rm") && depth + 2 + 2 * wrappers <= MAX_DEPTH
}

/// Returns whether an option before the first `--` is `--force` or contains the letter `f`.
fn has_force_option(arguments: &[String]) -> bool {
    let mut options = arguments.iter().take_while(|word| *word != "--");
    options.any(|word| {
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        word == "--force" || short.is_some_and(|letters| letters.contains('f'))
    })
}

fn strip_env(arguments: &[String]) -> &[String] {
    let mut rest = arguments;
    while let [word, after @ ..] = rest {
        match word.as_str() {
            "--" => return after,
            "-i" | "--ignore-environment" => rest = after,
            _ if is_env_assignment(word) => rest = after,
            _ => break,
        }
    }
    rest
}

/// Returns whether a word is an assignment for `env`, which accepts any text before the `=` as a
/// name.
fn is_env_assignment(word: &str) -> bool {
    !word.starts_with('-') && word.find('=').is_some_and(|at| at > 0)
}

fn find_subcommand(arguments: &[String]) -> Option<&str> {
    let words = match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    };
    words.first().map(String::as_str).filter(|action| !action.starts_with('-'))
}
