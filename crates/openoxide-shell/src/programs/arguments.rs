//! The words of a command, with what is known of those that stand for files.

use openoxide_protocol::{CommandWord, CommandWords, FileSearch};

/// Names of files that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// Those that match a pattern of the shell.
    Pattern(String),
    /// Some that lie below these directories, or are these files. Their names may be `bare`, or begin with the directories'.
    /// A program has printed them where a `search` says which of the files there they can be.
    Below { roots: Vec<String>, bare: bool, search: Option<Box<FileSearch>> },
    /// What the command reads from standard input, whatever that is: `whole` lines, or what stands between blanks.
    Input { whole: bool },
    /// Words of letters and digits that a program made up, such as the names of commits: no options, and no files.
    Tokens,
    /// A number.
    Number,
}

/// A command: its words, and which of the unknown ones are names of files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Argv {
    pub(crate) words: CommandWords,
    pub(crate) paths: Vec<(usize, Paths)>,
}

/// The same, borrowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
    pub(crate) words: &'a CommandWords,
    pub(crate) paths: &'a [(usize, Paths)],
}

/// One word of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arg<'a> {
    /// The whole word is known.
    Known(&'a str),
    /// One word, of which only the beginning is known; it may be empty.
    Begins(&'a str),
    /// Any number of words, each the name of one of these files.
    Paths(&'a Paths),
    /// Any number of words.
    Many,
}

impl Argv {
    /// Returns the command as it is looked at.
    pub(crate) fn as_arguments(&self) -> Arguments<'_> {
        Arguments { words: &self.words, paths: &self.paths }
    }
}

impl From<CommandWords> for Argv {
    fn from(words: CommandWords) -> Self {
        Self { words, paths: Vec::new() }
    }
}

impl<'a> From<&'a CommandWords> for Arguments<'a> {
    fn from(words: &'a CommandWords) -> Self {
        Self { words, paths: &[] }
    }
}

impl<'a> Arguments<'a> {
    /// Returns the words from the given one on.
    pub(crate) fn iter(self, from: usize) -> impl Iterator<Item = Arg<'a>> {
        self.words.iter().enumerate().skip(from).map(move |(index, word)| match word {
            CommandWord::Known(text) => Arg::Known(text),
            CommandWord::KnownPrefix(text) => {
                self.path(index).map_or(Arg::Begins(text), Arg::Paths)
            }
            CommandWord::AnyWords => self.path(index).map_or(Arg::Many, Arg::Paths),
        })
    }

    fn path(self, index: usize) -> Option<&'a Paths> {
        self.paths.iter().find(|(at, _)| *at == index).map(|(_, paths)| paths)
    }

    /// Returns the word at `index`, if it is known.
    pub(crate) fn known(self, index: usize) -> Option<&'a str> {
        match self.words.iter().nth(index)? {
            CommandWord::Known(text) => Some(text),
            CommandWord::KnownPrefix(_) | CommandWord::AnyWords => None,
        }
    }

    /// Returns the command that begins at `index`.
    pub(crate) fn tail(self, index: usize) -> Argv {
        let after = self.paths.iter().filter(|(at, _)| *at >= index);
        let paths = after.map(|(at, paths)| (at - index, paths.clone())).collect();
        Argv { words: self.words.tail(index), paths }
    }
}

impl Paths {
    /// Returns the names as they are where they come out of a stream. What follows a blank in one (`a -o.git/config`) is a
    /// word of its own, unless lines are kept `whole`, and can look like an option.
    pub(crate) fn read(self, whole: bool) -> Self {
        match self {
            Self::Below { roots, bare, search } => {
                Self::Below { roots, bare: bare || !whole, search }
            }
            other => other,
        }
    }

    /// Says whether the names stand in the script itself. Those that are read from another program lie below whole paths.
    pub(crate) fn is_listed(&self) -> bool {
        !matches!(self, Self::Below { roots, .. } if roots.iter().any(|root| root.starts_with('/')))
    }

    /// Says whether such a name may begin with a dash.
    pub(crate) fn may_look_like_option(&self) -> bool {
        match self {
            // A number can be negative.
            Self::Input { .. } | Self::Number => true,
            Self::Tokens => false,
            Self::Pattern(pattern) => pattern.starts_with(['-', '*', '?', '[']),
            Self::Below { roots, bare, .. } => {
                *bare || roots.iter().any(|root| root.starts_with('-'))
            }
        }
    }
}
