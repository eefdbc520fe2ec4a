//! The words of a command, and the information which of them are names of files.

use openoxide_protocol::{CommandWord, CommandWords, FileSearch};

/// Names of existing files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WordSource {
    /// The files that match a shell pattern.
    Pattern(String),
    /// Some of the files below these roots, or the roots themselves. The names may be `bare` or
    /// start with the names of the roots. If `search` is set, a program has printed the names, and
    /// `search` describes which of the files they can be.
    DescendantsOf { roots: Vec<String>, bare: bool, search: Option<Box<FileSearch>> },
    /// Any text that the command reads from standard input: `whole` lines, or words separated by
    /// blanks.
    StandardInput { whole: bool },
    /// Words of letters and digits that a program generated, such as the names of commits. They are
    /// neither options nor files.
    Tokens,
    /// A number.
    Number,
}

/// A command: its words, and which of the unknown words are names of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Argv {
    pub(crate) words: CommandWords,
    /// The sources of unknown words, in the order of their indices.
    pub(crate) paths: Vec<(usize, WordSource)>,
}

/// A borrowed view of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArgvRef<'a> {
    pub(crate) words: &'a CommandWords,
    pub(crate) paths: &'a [(usize, WordSource)],
}

/// One word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentWord<'a> {
    /// The whole word is known.
    Known(&'a str),
    /// One word of which only the beginning is known. The beginning may be empty.
    Prefix(&'a str),
    /// Any number of words, each the name of one of these files.
    Files(&'a WordSource),
    /// Any number of words.
    Many,
}

impl Argv {
    /// Returns the command as a borrowed view.
    pub(crate) fn as_argv_ref(&self) -> ArgvRef<'_> {
        ArgvRef { words: &self.words, paths: &self.paths }
    }
}

impl From<CommandWords> for Argv {
    fn from(words: CommandWords) -> Self {
        Self { words, paths: Vec::new() }
    }
}

impl<'a> From<&'a CommandWords> for ArgvRef<'a> {
    fn from(words: &'a CommandWords) -> Self {
        Self { words, paths: &[] }
    }
}

impl<'a> ArgvRef<'a> {
    /// Returns the words from the given index on.
    pub(crate) fn iter(self, from: usize) -> impl Iterator<Item = ArgumentWord<'a>> {
        self.words.iter().enumerate().skip(from).map(move |(index, word)| match word {
            CommandWord::Known(text) => ArgumentWord::Known(text),
            CommandWord::KnownPrefix(text) => {
                self.file_source(index).map_or(ArgumentWord::Prefix(text), ArgumentWord::Files)
            }
            CommandWord::AnyWords => {
                self.file_source(index).map_or(ArgumentWord::Many, ArgumentWord::Files)
            }
        })
    }

    fn file_source(self, index: usize) -> Option<&'a WordSource> {
        let found = self.paths.binary_search_by_key(&index, |(at, _)| *at).ok()?;
        self.paths.get(found).map(|(_, paths)| paths)
    }

    /// Returns the word at `index`, if it is known.
    pub(crate) fn known_word(self, index: usize) -> Option<&'a str> {
        self.words.known_word(index)
    }

    /// Returns the command that begins at `index`.
    pub(crate) fn tail_from(self, index: usize) -> Argv {
        let after = self.paths.iter().filter(|(at, _)| *at >= index);
        let paths = after.map(|(at, paths)| (at - index, paths.clone())).collect();
        Argv { words: self.words.tail(index), paths }
    }
}

impl WordSource {
    /// Returns the names as a program reads them from a stream. Unless lines are kept `whole`, the
    /// part of a name after a blank (`a -o.git/config`) is a separate word and can look like an
    /// option. The parts of names that cannot be looked up (`a /etc/passwd`) can name any file, so
    /// that `None` is returned.
    pub(crate) fn read_from_stream(self, whole: bool) -> Option<Self> {
        match self {
            Self::DescendantsOf { search: Some(search), .. }
                if !whole && search.names_earlier_files =>
            {
                None
            }
            Self::DescendantsOf { roots, bare, search } => {
                Some(Self::DescendantsOf { roots, bare: bare || !whole, search })
            }
            other => Some(other),
        }
    }

    /// Returns whether the names are part of the script itself. Names that are read from another
    /// program are below absolute paths.
    pub(crate) fn is_listed_in_script(&self) -> bool {
        !matches!(self, Self::DescendantsOf { roots, .. } if roots.iter().any(|root| root.starts_with('/')))
    }

    /// Returns whether one of these names may begin with a dash.
    pub(crate) fn may_look_like_option(&self) -> bool {
        match self {
            // A number can be negative.
            Self::StandardInput { .. } | Self::Number => true,
            Self::Tokens => false,
            Self::Pattern(pattern) => pattern.starts_with(['-', '*', '?', '[']),
            Self::DescendantsOf { roots, bare, .. } => {
                *bare || roots.iter().any(|root| root.starts_with('-'))
            }
        }
    }
}
