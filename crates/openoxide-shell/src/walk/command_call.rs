//! A command that is about to run: its words after all expansions, and their origin.

use openoxide_protocol::{CommandWords, Span};

use super::named_resources::AssignedVariable;
use crate::programs::{ArgvRef, WordSource};

/// A command that is about to run.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct CommandCall<'c> {
    pub(super) text: &'c str,
    pub(super) span: Span,
    /// The standard input, if the script determines it.
    pub(super) input: StdinSource,
    pub(super) argv: CommandWords,
    /// The unknown words that are names of files.
    pub(super) paths: Vec<(usize, WordSource)>,
    /// The source text of the unknown words.
    pub(super) sources: Vec<(usize, &'c str)>,
    /// The words that may contain text that the script does not show.
    pub(super) tainted: WordMask,
    /// The words that are assignments of unknown numbers.
    pub(super) numbers: WordMask,
    /// The variables that are assigned for this command.
    pub(super) assigned: Vec<AssignedVariable<'c>>,
    /// Whether variables are assigned for this command that may change what it does.
    pub(super) has_altered_environment: bool,
    /// Whether its words contain a variable of the environment that looks like a secret.
    pub(super) reveals_secret: bool,
    /// Whether one of its words is in the script, but its expansion is not computed.
    pub(super) obscure: bool,
    /// Whether its standard output is certainly a file or pipe, and not a terminal.
    pub(super) redirects_output: bool,
}

impl<'c> CommandCall<'c> {
    /// Creates the call of known words that are the whole script.
    pub(super) fn from_plain_words(text: &'c str, argv: CommandWords) -> Self {
        Self {
            text,
            span: Span::new(0, text.len()),
            input: StdinSource::Inherited,
            argv,
            paths: Vec::new(),
            sources: Vec::new(),
            tainted: WordMask::default(),
            numbers: WordMask::default(),
            assigned: Vec::new(),
            has_altered_environment: false,
            reveals_secret: false,
            obscure: false,
            redirects_output: false,
        }
    }

    /// Returns the shortened source text of an unknown word.
    pub(super) fn word_text(&self, index: usize) -> Option<&'c str> {
        const MOST: usize = 60;
        let (_, source) = self.sources.iter().find(|(at, _)| *at == index)?;
        let end = source.char_indices().nth(MOST).map_or(source.len(), |(end, _)| end);
        source.get(..end)
    }

    /// Returns the words, and the facts about those that are names of files.
    pub(super) fn as_argv(&self) -> ArgvRef<'_> {
        ArgvRef { words: &self.argv, paths: &self.paths }
    }
}

/// The standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StdinSource {
    /// The standard input of the script.
    Inherited,
    /// A file.
    File,
    /// Unknown text.
    Other,
    /// Known text.
    Text(String),
}

/// A set of the first words of a command. It contains every word after those.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WordMask(u64);

impl WordMask {
    /// Returns the set of all words.
    pub(super) const fn all_words() -> Self {
        Self(u64::MAX)
    }

    pub(super) fn contains(self, index: usize) -> bool {
        index >= 64 || self.0 >> index & 1 == 1
    }

    pub(super) fn insert(&mut self, index: usize, value: bool) {
        if index < 64 && value {
            self.0 |= 1 << index;
        }
    }
}
