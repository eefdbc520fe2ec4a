//! The commands that are known to be harmless: with exactly these words they read, print, and do nothing else.
//!
//! A program is on the list by its bare name only, an option by its full name only. What is left out is not known,
//! and not known is never wrong.

mod conditions;
mod find;
mod git;
mod jq;
mod print;
mod process;
mod read;
mod sed;
mod table;
mod tools;

use openoxide_protocol::{CommandClass, Word, Words};

use self::read::Shape;

/// What is known of a command without asking any rule.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Whether it is harmless.
    pub class: CommandClass,
    /// The files and directories that a harmless command reads, as they are written. Directories are read with
    /// everything in them.
    pub reads: Vec<String>,
    /// Whether it only looks at names, sizes and the like of what it reads, never at contents.
    pub lists: bool,
}

impl Known {
    fn harmless() -> Self {
        Self { class: CommandClass::Harmless, ..Self::default() }
    }

    /// Adds a file that is read, unless it is standard input.
    fn read(&mut self, file: &str) {
        if file != "-" {
            self.reads.push(file.to_owned());
        }
    }

    /// Adds the file that this word names; there is no saying which if it is not wholly known.
    fn read_word(&mut self, word: Word<'_>) -> Option<()> {
        let Word::Known(file) = word else { return None };
        self.read(file);
        Some(())
    }
}

/// How a program is judged.
#[derive(Clone, Copy, Debug)]
enum Judge {
    /// No words make it do anything but print.
    Anything,
    /// By the options and operands that it may have.
    Shape(Shape),
    /// By a function, which finds nothing where the command is not known to be harmless.
    Special(fn(&Words) -> Option<Known>),
}

impl Judge {
    /// Judges the words after the first `skip`.
    fn judge(self, argv: &Words, skip: usize) -> Option<Known> {
        match self {
            Self::Anything => Some(Known::harmless()),
            Self::Shape(shape) => shape.judge(argv, skip),
            Self::Special(judge) => judge(argv),
        }
    }
}

/// Returns what is known of the command.
#[must_use]
pub fn classify(argv: &Words) -> Known {
    harmless(argv).unwrap_or_default()
}

fn harmless(argv: &Words) -> Option<Known> {
    lookup(table::PROGRAMS, argv.known(0)?)?.judge(argv, 1)
}

/// Finds a name in a table that is sorted by name.
fn lookup(table: &[(&str, Judge)], name: &str) -> Option<Judge> {
    let at = table.binary_search_by(|(entry, _)| (*entry).cmp(name)).ok()?;
    table.get(at).map(|(_, judge)| *judge)
}

#[cfg(test)]
mod tests;
