//! The types of the functions that the table names.

use super::{
    arguments::ArgumentWord, command_arguments::CommandArguments, command_meaning::CommandMeaning,
};

/// A function that returns the meaning of the arguments of a program or subcommand.
pub(crate) type CommandReader = fn(CommandArguments<'_>) -> CommandMeaning;

/// A function that returns whether an option with its value is harmless.
pub(crate) type OptionCheck = fn(&str, Option<ArgumentWord<'_>>) -> bool;

/// A function that returns whether the program prints only words of letters and digits with these
/// options and operands.
pub(crate) type TokenOutputCheck =
    fn(&[(&str, Option<ArgumentWord<'_>>)], &[ArgumentWord<'_>]) -> bool;

/// A function that adds the effects of an option's value.
pub(crate) type OptionValueReader = fn(&mut CommandMeaning, &str, Option<ArgumentWord<'_>>);
