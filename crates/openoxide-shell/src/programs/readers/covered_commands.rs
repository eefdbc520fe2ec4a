//! Commands that are covered by a rule for the program that runs them.

use openoxide_protocol::{CommandClass, CommandWord, CommandWords};

use super::{
    super::{Argv, CommandEffect, CommandMeaning, spec_table},
    push_word,
};

/// Adds the command that a program runs. A rule for the outer program covers it. The files that it
/// writes, removes or loads are added as well.
pub(in super::super) fn add_tool(meaning: &mut CommandMeaning, command: Argv, guest: bool) {
    meaning.lower_class(CommandClass::Unknown);
    let command = command_after_dashes(command);
    if command.words.is_empty() {
        return;
    }
    if guest {
        return meaning.effects.push(CommandEffect::GuestCommand(command));
    }
    let Some(name) = command.words.known_word(0) else {
        return meaning.add_unknown_effect("the program that it runs is not known");
    };
    let mut words = CommandWords::new();
    words.push(program_name(name));
    command.words.iter().skip(1).for_each(|word| push_word(&mut words, word));
    meaning.effects.push(CommandEffect::Tool(Argv { words, ..command }));
}

/// The reason why a subcommand with a slash is not understood. `git a/b` starts `git-a/b` in the
/// working directory.
pub(in super::super) const PATH_AS_SUBCOMMAND: &str =
    "its subcommand is a path, which can lead to a program of the project";

/// Adds the program for a word that is not a subcommand. `cargo audit` runs `cargo-audit`, which
/// also receives that word.
pub(in super::super) fn add_plugin(meaning: &mut CommandMeaning, outer: &str, command: &Argv) {
    let Some(name) = command.words.known_word(0) else {
        meaning.lower_class(CommandClass::Unknown);
        return meaning.add_unknown_effect("the program that it runs is not known");
    };
    if name.contains('/') {
        meaning.lower_class(CommandClass::Unknown);
        return meaning.add_unknown_effect(PATH_AS_SUBCOMMAND);
    }
    let from = usize::from(outer != "cargo");
    let mut words = CommandWords::new();
    words.push(&format!("{outer}-{name}"));
    command.words.iter().skip(from).for_each(|word| push_word(&mut words, word));
    add_tool(meaning, words.into(), false);
}

/// Returns the command after `--`, if options of the outer program precede it.
fn command_after_dashes(command: Argv) -> Argv {
    let first = command.words.known_word(0).unwrap_or_default();
    let dashes = command.words.iter().position(|word| word == CommandWord::Known("--"));
    match dashes.filter(|_| first.starts_with('-')) {
        Some(at) => command.as_argv_ref().tail_from(at + 1),
        None => command,
    }
}

/// Returns the name of a program in the table, without a version, a scope, an environment or the
/// beginning of an address.
fn program_name(name: &str) -> &str {
    let name = name.rsplit_once('#').map_or(name, |(_, name)| name);
    // `hatch run ENVIRONMENT:COMMAND`, `deno x npm:PACKAGE`.
    let name = match name.rsplit_once(':') {
        Some((_, name)) if !name.is_empty() => name,
        _ => name,
    };
    let end = name.char_indices().skip(1).find(|(_, each)| matches!(each, '@' | '=' | '[' | '<'));
    let plain = name.get(..end.map_or(name.len(), |(at, _)| at)).unwrap_or(name);
    let last = plain.rsplit('/').next().unwrap_or(plain);
    if spec_table::find_program(plain).is_none() && spec_table::find_program(last).is_some() {
        last
    } else {
        plain
    }
}
