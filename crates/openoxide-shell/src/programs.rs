//! What programs do, by their words: which are harmless, what they read, write, reach and run.
//!
//! The table (`programs/*.toml`) knows each program's options and operands. What it leaves out is not known, and not known
//! is never harmless. A program is harmless by its bare name or in a directory of the system only; what it could do that is
//! not harmless is told of it wherever it lies.

mod arguments;
pub(crate) mod hash;
mod items;
mod level;
mod meaning;
mod readers;
#[cfg(test)]
mod tests;

use openoxide_protocol::CommandClass;

pub(crate) use self::{
    arguments::{Arg, Arguments, Argv, Paths},
    meaning::{Effect, Meaning, Prints, Target},
};

/// Returns what a command does, as far as its words show it.
pub(crate) fn meaning(arguments: Arguments<'_>) -> Meaning {
    let Some(name) = arguments.known(0) else { return Meaning::unknown() };
    let (directory, base) = match name.rsplit_once('/') {
        Some((directory, base)) => (directory, base),
        None => ("/bin", name),
    };
    let Some(level) = level::program(base) else { return Meaning::unknown() };
    let mut meaning = meaning::read(level, arguments, 1);
    let system = matches!(directory, "/bin" | "/usr/bin");
    if name.contains('/') && (!system || meaning.effects.iter().any(carries)) {
        meaning.lower(CommandClass::Unknown);
    }
    meaning
}

fn carries(effect: &Effect) -> bool {
    matches!(effect, Effect::Runs(_) | Effect::Script(_) | Effect::Unknown(_))
}

/// Returns the class of a command that runs no other one; of one that may, nothing is known.
fn class_alone(arguments: Arguments<'_>) -> CommandClass {
    let name = arguments.known(0).unwrap_or_default().rsplit('/').next().unwrap_or_default();
    // These ask for the class of what they run in their turn.
    if matches!(name, "fd" | "fdfind" | "find" | "gfind") {
        return CommandClass::Unknown;
    }
    let meaning = meaning(arguments);
    if meaning.effects.iter().any(carries) { CommandClass::Unknown } else { meaning.class }
}
