//! The meaning of commands, derived from their words: which are harmless, and what they read,
//! write, reach and run.
//!
//! The table (`programs/*.toml`) describes the options and operands of each program. Anything that
//! is missing from it is unknown, and unknown is never harmless. A program is harmless only by its
//! bare name or in a system directory. Effects that are not harmless are reported for a program in
//! any directory.

mod arguments;
mod command_arguments;
mod command_items;
mod command_meaning;
mod command_reading;
mod command_spec;
pub(crate) mod hash;
mod possible_option;
mod readers;
mod spec_table;
#[cfg(test)]
mod tests;

use openoxide_protocol::{CommandClass, VersionControl};

pub use self::readers::extends_own_settings;
pub(crate) use self::{
    arguments::{ArgumentWord, Argv, ArgvRef, WordSource},
    command_arguments::CommandArguments,
    command_meaning::{CommandEffect, CommandMeaning, EffectTarget, OutputKind, PossibleOption},
    possible_option::add_possible_options,
    readers::remove_nohup_output,
};

/// Returns what a command does, as far as its words show it.
pub(crate) fn analyze_command(arguments: ArgvRef<'_>) -> CommandMeaning {
    let Some(name) = arguments.known_word(0) else { return CommandMeaning::new_unknown() };
    let (directory, base) = match name.rsplit_once('/') {
        Some((directory, base)) => (directory, base),
        None => ("/bin", name),
    };
    let Some(level) = spec_table::find_program(base) else { return CommandMeaning::new_unknown() };
    let mut meaning = command_reading::read_arguments(CommandArguments::new(level, arguments, 1));
    meaning.unproved = spec_table::is_unproved_program(base);
    let ends = meaning.only_ends || level.custom_reader().is_some() && names_version(arguments);
    if ends && spec_table::is_version_unproved(base) {
        meaning.lower_class(CommandClass::Unknown);
    }
    if level.traits.copies {
        meaning.read_whole_directories();
    }
    let system = matches!(directory, "/bin" | "/usr/bin");
    if name.contains('/') && (!system || meaning.effects.iter().any(CommandEffect::is_command)) {
        meaning.lower_class(CommandClass::Unknown);
    }
    meaning
}

/// Returns whether the table has a program of this name.
pub(crate) fn is_known_program(name: &str) -> bool {
    spec_table::find_program(name.rsplit('/').next().unwrap_or_default()).is_some()
}

/// Returns whether a command asks for help or a version in the spelling of most programs.
fn names_version(arguments: ArgvRef<'_>) -> bool {
    matches!(arguments.known_word(1), Some("-v" | "-V" | "-h"))
        || arguments.iter(1).any(|arg| matches!(arg, ArgumentWord::Known("--version" | "--help")))
}

/// Returns the class of a command that runs no other command, or unknown for one that does. `find`
/// and `fd` call this for the commands that they run. The result for another `find` or `fd` is
/// unknown, too, because they could be nested without limit.
fn class_without_inner_command(arguments: ArgvRef<'_>) -> CommandClass {
    let level = arguments.known_word(0).and_then(spec_table::find_program);
    if level.is_none_or(|level| matches!(level.name(), "find" | "fd")) {
        return CommandClass::Unknown;
    }
    let meaning = analyze_command(arguments);
    if meaning.effects.iter().any(CommandEffect::is_command) {
        CommandClass::Unknown
    } else {
        meaning.class
    }
}

/// Returns whether a command starts a version control system.
fn starts_version_control(arguments: ArgvRef<'_>) -> bool {
    analyze_command(arguments).version_control != VersionControl::None
}
