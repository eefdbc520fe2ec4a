//! Storage of the table in flat arrays without pointers. A pointer in a static is relocated
//! whenever the program starts, and a hook starts the program for each tool call.

use openoxide_protocol::CommandClass;

use super::{
    hash,
    level::{
        Check, Does, Level, Operand, OperandsRow, OptRow, Reader, Takes, Tokens, Traits, Values,
        When,
    },
    readers,
};

/// A text of the table: where it begins in [`TEXTS`], and in the last eight bits how long it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text(u32);

/// A range of consecutive entries in one of the arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    from: u16,
    to: u16,
}

/// Several texts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Texts(Range);

/// A program or subcommand, by one of its names.
#[derive(Debug)]
pub(super) struct Named {
    name: Text,
    /// Its place in [`LEVELS`].
    level: u16,
}

impl Text {
    pub(super) fn get(self) -> &'static str {
        let (at, length) = ((self.0 >> 8) as usize, (self.0 & 0xff) as usize);
        // INVARIANT: the build script has put the text there.
        TEXTS.get(at..at + length).unwrap_or_default()
    }
}

impl Range {
    pub(super) fn of<T>(self, all: &'static [T]) -> &'static [T] {
        // INVARIANT: the build script has put them there.
        all.get(usize::from(self.from)..usize::from(self.to)).unwrap_or_default()
    }
}

impl Texts {
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        self.0.of(&LISTS).iter().map(|text| text.get())
    }

    pub(super) fn has(self, text: &str) -> bool {
        self.iter().any(|each| each == text)
    }
}

impl Named {
    pub(super) fn name(&self) -> &'static str {
        self.name.get()
    }

    pub(super) fn level(&self) -> Option<&'static Level> {
        LEVELS.get(usize::from(self.level))
    }
}

/// Returns the level of the program of this name.
pub(super) fn program(name: &str) -> Option<&'static Level> {
    PROGRAMS.get(number(name)?)?.level()
}

/// Returns whether the program of this name was never run to check that it is harmless (`programs/unproved.txt`).
pub(super) fn is_unproved(name: &str) -> bool {
    let Some(number) = number(name) else { return true };
    UNPROVED.get(number / 8).is_none_or(|byte| byte & (1 << (number % 8)) != 0)
}

/// Returns whether the help and the version of the program of this name were never run in a directory full of traps: it is
/// unproved, and `programs/versions.txt` does not have it.
pub(super) fn is_version_unproved(name: &str) -> bool {
    let Some(number) = number(name) else { return true };
    UNPROVED_VERSIONS.get(number / 8).is_none_or(|byte| byte & (1 << (number % 8)) != 0)
}

/// Returns the place of a program in [`PROGRAMS`].
fn number(name: &str) -> Option<usize> {
    let mut slot = hash::slot(name);
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

/// Returns every program with its level.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static Level)> {
    PROGRAMS.iter().map(|program| (program.name(), program.level().unwrap()))
}
