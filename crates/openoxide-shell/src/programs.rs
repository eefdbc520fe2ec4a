//! The meaning of commands, derived from their words: which are harmless, and what they read,
//! write, reach and run.
//!
//! The table (`programs/*.toml`) describes the options and operands of each program. Anything that
//! is missing from it is unknown, and unknown is never harmless. A program is harmless only by its
//! bare name or in a system directory. Effects that are not harmless are reported for a program in
//! any directory.

mod arguments;
pub(crate) mod hash;
mod items;
mod level;
mod meaning;
mod possible_option;
mod readers;
mod reading;
mod table;
#[cfg(test)]
mod tests;

use openoxide_protocol::{CommandClass, VersionControl};

pub(crate) use self::{
    arguments::{Arg, Arguments, Argv, Paths},
    meaning::{Effect, Meaning, PossibleOption, Prints, Target},
    possible_option::add_possible_options,
};

/// Returns what a command does, as far as its words show it.
pub(crate) fn meaning(arguments: Arguments<'_>) -> Meaning {
    let Some(name) = arguments.known(0) else { return Meaning::unknown() };
    let (directory, base) = match name.rsplit_once('/') {
        Some((directory, base)) => (directory, base),
        None => ("/bin", name),
    };
    let Some(level) = table::program(base) else { return Meaning::unknown() };
    let mut meaning = reading::read(level, arguments, 1);
    meaning.unproved = table::is_unproved(base);
    let ends = meaning.only_ends || level.reader().is_some() && names_version(arguments);
    if ends && table::is_version_unproved(base) {
        meaning.lower(CommandClass::Unknown);
    }
    if level.traits.copies {
        meaning.read_whole();
    }
    let system = matches!(directory, "/bin" | "/usr/bin");
    if name.contains('/') && (!system || meaning.effects.iter().any(Effect::is_command)) {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

/// Returns whether a command asks for help or a version in the spelling of most programs.
fn names_version(arguments: Arguments<'_>) -> bool {
    matches!(arguments.known(1), Some("-v" | "-V" | "-h"))
        || arguments.iter(1).any(|arg| matches!(arg, Arg::Known("--version" | "--help")))
}

/// Returns the class of a command that runs no other command, or unknown for one that does. `find`
/// and `fd` call this for the commands that they run. The result for another `find` or `fd` is
/// unknown, too, because they could be nested without limit.
fn class_alone(arguments: Arguments<'_>) -> CommandClass {
    let level = arguments.known(0).and_then(table::program);
    if level.is_none_or(|level| matches!(level.name(), "find" | "fd")) {
        return CommandClass::Unknown;
    }
    let meaning = meaning(arguments);
    if meaning.effects.iter().any(Effect::is_command) {
        CommandClass::Unknown
    } else {
        meaning.class
    }
}

/// Returns whether a command starts a version control system.
fn starts_version_control(arguments: Arguments<'_>) -> bool {
    meaning(arguments).starts != VersionControl::None
}
