//! The functions that the table names: readers of programs, and checks of options and output.
//!
//! The readers use the generic reader (`command_reading`), which calls the readers for subcommands
//! through the methods of [`CommandSpec`] in this file.

use super::{
    command_spec::CommandSpec,
    reader_functions::{CommandReader, OptionCheck, OptionValueReader, TokenOutputCheck},
    readers,
};

impl CommandSpec {
    pub(super) fn option_check(&self) -> Option<OptionCheck> {
        CHECKS.get(usize::from(self.check?)).copied()
    }

    pub(super) fn token_output_check(&self) -> Option<TokenOutputCheck> {
        TOKENS.get(usize::from(self.tokens?)).copied()
    }

    pub(super) fn value_reader(&self) -> Option<OptionValueReader> {
        VALUES.get(usize::from(self.values?)).copied()
    }

    pub(super) fn custom_reader(&self) -> Option<CommandReader> {
        READERS.get(usize::from(self.reader?)).copied()
    }
}

include!(concat!(env!("OUT_DIR"), "/readers.rs"));
