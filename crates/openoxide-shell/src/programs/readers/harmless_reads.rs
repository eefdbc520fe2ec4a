//! Files that harmless commands read.

use openoxide_protocol::{CommandClass, CommandWord};

use super::super::{ArgumentWord, CommandMeaning};

/// The files that a harmless command reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HarmlessReads {
    pub(super) reads: Vec<String>,
    /// Whether it only reads names, sizes and other metadata.
    pub(super) metadata_only: bool,
}

impl HarmlessReads {
    /// Adds a file that is read.
    pub(super) fn add_file(&mut self, file: &str) {
        self.reads.push(file.to_owned());
    }

    /// Adds a file of which only names, sizes and other metadata are read. An unknown file is
    /// accepted, because this reveals little about it.
    pub(super) fn add_metadata_file(&mut self, word: CommandWord<'_>) -> Option<()> {
        if let CommandWord::Known(file) = word {
            self.add_file(file);
        }
        (word != CommandWord::AnyWords).then_some(())
    }
}

/// Returns the meaning of a command that is harmless if `known` is set.
pub(super) fn harmless_meaning(known: Option<HarmlessReads>) -> CommandMeaning {
    let Some(known) = known else { return CommandMeaning::new_unknown() };
    let mut meaning = CommandMeaning::new(CommandClass::Harmless);
    known
        .reads
        .iter()
        .for_each(|file| meaning.add_read(ArgumentWord::Known(file), known.metadata_only));
    meaning
}
