//! Commands that Codex takes for dangerous: `rm` that is forced, also behind `sudo`, `env`, `trap` and in scripts.

use super::{dialect::Dialect, shell};

/// Wrappers around wrappers are looked into so deep.
const DEEPEST: usize = 8;

/// Why a command is dangerous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Danger {
    /// It removes without a question.
    ForcedRemoval,
    /// It is wrapped too deep to be known.
    Nested,
}

/// Returns why a command is dangerous, if it is.
pub(super) fn danger(argv: &[String], dialect: Dialect) -> Option<Danger> {
    found(argv, 0, dialect)
}

/// What is wrapped too deep is dangerous only since August 2026; before, it was passed over.
fn found(argv: &[String], depth: usize, dialect: Dialect) -> Option<Danger> {
    if depth > DEEPEST {
        return (dialect != Dialect::V0145).then_some(Danger::Nested);
    }
    let (program, arguments) = argv.split_first()?;
    // `rm/` is no `rm` here.
    match program.rsplit('/').next().unwrap_or_default() {
        "rm" if forces(arguments) => Some(Danger::ForcedRemoval),
        "sudo" => found(arguments, depth + 1, dialect),
        "env" => found(behind_env(arguments), depth + 1, dialect),
        "trap" => in_script(action(arguments)?, depth + 1, dialect),
        _ => in_script(shell::script(argv)?, depth, dialect),
    }
}

fn in_script(script: &str, depth: usize, dialect: Dialect) -> Option<Danger> {
    if is_harmless(script, depth) {
        return None;
    }
    let commands = shell::every_command(script)?;
    commands.iter().find_map(|words| found(words, depth + 1, dialect))
}

/// Says of most scripts without reading them that they are not dangerous: the letters of `rm` are not there, even where quotes part
/// them, and too few wrappers are to nest too deep. One takes two levels at most.
fn is_harmless(script: &str, depth: usize) -> bool {
    let bare: String = script.chars().filter(|c| !"'\"\\\n".contains(*c)).collect();
    let wrappers: usize =
        ["sudo", "env", "trap", "sh"].iter().map(|name| bare.matches(name).count()).sum();
    !bare.contains("rm") && depth + 2 + 2 * wrappers <= DEEPEST
}

/// Only options before the first `--` count; `-f` also among others.
fn forces(arguments: &[String]) -> bool {
    let mut options = arguments.iter().take_while(|word| *word != "--");
    options.any(|word| {
        let short = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        word == "--force" || short.is_some_and(|letters| letters.contains('f'))
    })
}

fn behind_env(arguments: &[String]) -> &[String] {
    let mut rest = arguments;
    while let [word, after @ ..] = rest {
        match word.as_str() {
            "--" => return after,
            "-i" | "--ignore-environment" => rest = after,
            _ if assigns(word) => rest = after,
            _ => break,
        }
    }
    rest
}

/// Whatever stands before the `=` is a name there.
fn assigns(word: &str) -> bool {
    !word.starts_with('-') && word.find('=').is_some_and(|at| at > 0)
}

fn action(arguments: &[String]) -> Option<&str> {
    let words = match arguments {
        [first, rest @ ..] if first == "--" => rest,
        all => all,
    };
    words.first().map(String::as_str).filter(|action| !action.starts_with('-'))
}
