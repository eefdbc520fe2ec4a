//! Storage of the table in flat arrays without pointers. A pointer in a static is relocated
//! whenever the program starts, and a hook starts the program for each tool call.

use openoxide_protocol::CommandClass;

use super::{
    command_spec::{
        CommandSpec, CommandTraits, OperandKind, OperandSpec, OperandSpecRow, OptionEffect,
        OptionOverride, OptionRow, OptionSpec, OptionValueKind,
    },
    hash,
    table_entries::{NameEntry, TableRange, TableText, TableTexts},
};

impl TableText {
    pub(super) fn as_str(self) -> &'static str {
        let (at, length) = ((self.0 >> 8) as usize, (self.0 & 0xff) as usize);
        // INVARIANT: the build script only creates positions within the array.
        TEXTS.get(at..at + length).unwrap_or_default()
    }
}

impl TableTexts {
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.slice_of(&LISTS).iter().map(|text| text.as_str())
    }

    pub(super) fn contains(self, text: &str) -> bool {
        self.iter().any(|each| each == text)
    }
}

impl NameEntry {
    pub(super) fn name(&self) -> &'static str {
        self.name.as_str()
    }

    pub(super) fn spec(&self) -> Option<&'static CommandSpec> {
        LEVELS.get(usize::from(self.level))
    }
}

impl CommandSpec {
    /// Returns the options.
    pub(super) fn options(&self) -> impl Iterator<Item = OptionSpec> {
        self.option_sets().flatten().map(OptionRow::to_option_spec)
    }

    /// Returns the sets of options, each sorted by name.
    pub(super) fn option_sets(&self) -> impl Iterator<Item = &'static [OptionRow]> + Clone {
        self.options.slice_of(&SETS).iter().map(|set| set.slice_of(&OPTIONS))
    }

    pub(super) fn option_overrides(&self) -> &'static [OptionOverride] {
        self.option_overrides.slice_of(&WHENS)
    }

    /// Returns the subcommands, sorted by name.
    pub(super) fn subcommands(&self) -> &'static [NameEntry] {
        self.subcommands.slice_of(&SUBS)
    }
}

impl OperandSpecRow {
    pub(super) fn to_operand_spec(self) -> OperandSpec {
        let of = |range: TableRange| range.slice_of(&OPERANDS);
        OperandSpec { first: of(self.first), repeated: self.repeated, last: of(self.last) }
    }
}

/// Returns the description of the program of this name.
pub(super) fn find_program(name: &str) -> Option<&'static CommandSpec> {
    PROGRAMS.get(find_index(name)?)?.spec()
}

/// Returns whether the program of this name was never run to check that it is harmless
/// (`programs/unproved.txt`).
pub(super) fn is_unproved_program(name: &str) -> bool {
    let Some(number) = find_index(name) else { return true };
    UNPROVED.get(number / 8).is_none_or(|byte| byte & (1 << (number % 8)) != 0)
}

/// Returns whether neither the help nor the version of the program of this name was verified by
/// running it in a directory full of traps: the program is unproved, and `programs/versions.txt`
/// does not list it.
pub(super) fn is_version_unproved(name: &str) -> bool {
    let Some(number) = find_index(name) else { return true };
    UNPROVED_VERSIONS.get(number / 8).is_none_or(|byte| byte & (1 << (number % 8)) != 0)
}

/// Returns the index of a program in [`PROGRAMS`].
fn find_index(name: &str) -> Option<usize> {
    let mut slot = hash::name_slot(name);
    loop {
        // INVARIANT: the build script leaves slots empty, so the search ends.
        let number = usize::from(*SLOTS.get(slot % SLOTS.len())?).checked_sub(1)?;
        if PROGRAMS.get(number)?.name() == name {
            return Some(number);
        }
        slot += 1;
    }
}

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// Returns all programs with their descriptions.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static CommandSpec)> {
    PROGRAMS.iter().map(|program| (program.name(), program.spec().unwrap()))
}
