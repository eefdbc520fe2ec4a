//! The meaning of a whole command, beginning with the name of its program.

use openoxide_protocol::{CommandClass, VersionControl};

use super::{
    arguments::{ArgumentWord, ArgvRef},
    command_arguments::CommandArguments,
    command_meaning::{CommandEffect, CommandMeaning},
    command_reading,
    option_signs::check_option_signs,
    option_values::check_option_values,
    spec_table,
};

/// Returns the effects of a command as far as its words show them.
pub(crate) fn analyze_command(arguments: ArgvRef<'_>) -> CommandMeaning {
    let Some(name) = arguments.known_word(0) else { return CommandMeaning::new_unknown() };
    let (directory, base) = match name.rsplit_once('/') {
        Some((directory, base)) => (directory, base),
        None => ("/bin", name),
    };
    let Some(level) = spec_table::find_program(base) else { return CommandMeaning::new_unknown() };
    let mut meaning = command_reading::read_arguments(CommandArguments::new(level, arguments, 1));
    check_option_signs(&mut meaning, level, arguments);
    check_option_values(&mut meaning, level, arguments);
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

/// Returns whether the table contains a program of this name.
pub(crate) fn is_known_program(name: &str) -> bool {
    spec_table::find_program(name.rsplit('/').next().unwrap_or_default()).is_some()
}

/// Returns whether a command asks for help or a version in the spelling of most programs.
fn names_version(arguments: ArgvRef<'_>) -> bool {
    matches!(arguments.known_word(1), Some("-v" | "-V" | "-h"))
        || arguments.iter(1).any(|arg| matches!(arg, ArgumentWord::Known("--version" | "--help")))
}

impl ArgvRef<'_> {
    /// Returns the meaning of a command inside another command ([`analyze_command`]).
    pub(super) fn meaning(self) -> CommandMeaning {
        analyze_command(self)
    }

    /// Returns the class of a command that runs no other command, or unknown for a command that
    /// does. `find` and `fd` call this function for the commands that they run. The result for
    /// another `find` or `fd` is unknown, too, because they could be nested without limit.
    pub(super) fn class_without_inner_command(self) -> CommandClass {
        let level = self.known_word(0).and_then(spec_table::find_program);
        if level.is_none_or(|level| matches!(level.name(), "find" | "fd")) {
            return CommandClass::Unknown;
        }
        let meaning = analyze_command(self);
        if meaning.effects.iter().any(CommandEffect::is_command) {
            CommandClass::Unknown
        } else {
            meaning.class
        }
    }

    /// Returns whether a command starts a version control system.
    pub(super) fn starts_version_control(self) -> bool {
        analyze_command(self).version_control != VersionControl::None
    }
}
