//! The meaning of commands, derived from their words: which commands are harmless, and what they
//! read, write, reach and run.
//!
//! The table (`programs/*.toml`) describes the options and operands of each program. Anything that
//! is missing from it is unknown, and unknown is never harmless. A program can be harmless only if
//! it is called by its bare name or from a system directory. Effects that are not harmless are
//! reported for a program in any directory.

mod arguments;
mod command_analysis;
mod command_arguments;
mod command_items;
mod command_meaning;
mod command_reading;
mod command_spec;
pub(crate) mod hash;
mod option_signs;
mod option_values;
mod possible_option;
mod reader_functions;
mod reader_table;
mod readers;
mod spec_table;
mod table_entries;
#[cfg(test)]
mod tests;

pub use self::readers::extends_own_settings;
pub(crate) use self::{
    arguments::{ArgumentWord, Argv, ArgvRef, WordSource},
    command_analysis::{analyze_command, is_known_program},
    command_meaning::{
        CommandEffect, CommandMeaning, EffectTarget, OutputKind, PossibleOption, address_in,
    },
    possible_option::add_possible_options,
    readers::{RUNS_SCRIPT_FILE, base_name, remove_nohup_output},
};
