//! The arguments of a program or subcommand, together with its description in the table.

use openoxide_protocol::{CommandWord, CommandWords};

use super::{
    arguments::{ArgumentWord, ArgvRef},
    command_spec::CommandSpec,
};

/// The arguments of a program or subcommand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CommandArguments<'a> {
    /// The description of the program or subcommand.
    pub(crate) spec: &'static CommandSpec,
    /// All words of the command, beginning with the name of the program.
    pub(crate) argv: ArgvRef<'a>,
    /// The index of the first argument in `argv`.
    pub(crate) start: usize,
}

impl<'a> CommandArguments<'a> {
    /// Returns the words from `start` on as arguments of a program or subcommand.
    pub(crate) const fn new(spec: &'static CommandSpec, argv: ArgvRef<'a>, start: usize) -> Self {
        Self { spec, argv, start }
    }

    /// Returns the arguments.
    pub(crate) fn words(self) -> impl Iterator<Item = ArgumentWord<'a>> {
        self.argv.iter(self.start)
    }

    /// Returns the arguments without the information which of them are names of files.
    pub(crate) fn command_words(self) -> impl Iterator<Item = CommandWord<'a>> {
        self.argv.words.iter().skip(self.start)
    }

    /// Returns the argument at `index`, if it is known.
    pub(crate) fn known_argument(self, index: usize) -> Option<&'a str> {
        self.argv.known_word(self.start + index)
    }

    /// Returns the number of arguments. A word that can expand to any number of words counts as
    /// one.
    pub(crate) fn len(self) -> usize {
        self.argv.words.len().saturating_sub(self.start)
    }

    /// Returns whether there are no arguments.
    pub(crate) fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the file name of the program, or the name of the subcommand, that precedes the
    /// arguments. It is empty if it is not known.
    pub(crate) fn called_name(self) -> &'a str {
        let name = self.start.checked_sub(1).and_then(|at| self.argv.known_word(at));
        name.map_or("", |name| name.rsplit('/').next().unwrap_or(name))
    }

    /// Returns the arguments after the first `count`.
    pub(crate) fn skip(self, count: usize) -> Self {
        Self { start: self.start + count, ..self }
    }

    /// Returns arguments of the same program with other words.
    pub(crate) fn with_words<'b>(self, words: &'b CommandWords) -> CommandArguments<'b> {
        CommandArguments { spec: self.spec, argv: words.into(), start: self.start }
    }
}
