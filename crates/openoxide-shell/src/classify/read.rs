//! Programs that read files or standard input and print: judged by a table of their options and operands.

use openoxide_protocol::{Word, Words};

use super::{Known, git};
use crate::options::{Grammar, Item, Mark, options};

/// What a harmless use of a program looks like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    grammar: Grammar,
    operands: Operands,
    lists: bool,
    default: Default,
    check: Option<Check>,
}

/// Says whether this option with this value is harmless, too.
type Check = fn(&str, Option<Word<'_>>) -> bool;

#[derive(Clone, Copy, Debug)]
enum Operands {
    /// None may be given.
    None,
    /// Texts; they need not be known.
    Text,
    /// At most so many files.
    Files(usize),
    /// A text, unless one of these options gives it, and then files.
    Pattern(&'static [&'static str]),
    /// What git takes: revisions and paths.
    Revisions,
    /// A pattern, unless one of these options gives it, and then revisions and paths.
    RevisionsAfterPattern(&'static [&'static str]),
}

/// Which directory is read if no file is given.
#[derive(Clone, Copy, Debug)]
enum Default {
    None,
    Here,
    /// The working directory, with one of these options.
    HereWith(&'static [&'static str]),
}

type Long = &'static [&'static str];

impl Shape {
    const fn new(short: &'static str, long: Long, operands: Operands) -> Self {
        let grammar = Grammar::exact(short, long);
        Self { grammar, operands, lists: false, default: Default::None, check: None }
    }

    /// Options only.
    pub(super) const fn bare(short: &'static str, long: Long) -> Self {
        Self::new(short, long, Operands::None)
    }

    /// Options and texts.
    pub(super) const fn text(short: &'static str, long: Long) -> Self {
        Self::new(short, long, Operands::Text)
    }

    /// Options and any number of files.
    pub(super) const fn files(short: &'static str, long: Long) -> Self {
        Self::new(short, long, Operands::Files(usize::MAX))
    }

    /// Options and at most so many files. One more could be a file to write.
    pub(super) const fn few_files(most: usize, short: &'static str, long: Long) -> Self {
        Self::new(short, long, Operands::Files(most))
    }

    /// Options, a pattern unless an option `given_by` gives it, and files.
    pub(super) const fn pattern(
        given_by: &'static [&'static str],
        short: &'static str,
        long: Long,
    ) -> Self {
        Self::new(short, long, Operands::Pattern(given_by))
    }

    /// Options, and revisions and paths of git.
    pub(super) const fn revisions(short: &'static str, long: Long) -> Self {
        Self::new(short, long, Operands::Revisions)
    }

    /// Options, a pattern unless an option `given_by` gives it, and revisions and paths of git.
    pub(super) const fn pattern_and_revisions(
        given_by: &'static [&'static str],
        short: &'static str,
        long: Long,
    ) -> Self {
        Self::new(short, long, Operands::RevisionsAfterPattern(given_by))
    }

    /// It looks at names and the like only.
    pub(super) const fn lists(mut self) -> Self {
        self.lists = true;
        self
    }

    /// Without a file it reads the working directory.
    pub(super) const fn here(mut self) -> Self {
        self.default = Default::Here;
        self
    }

    /// Without a file, but with one of these options, it reads the working directory.
    pub(super) const fn here_with(mut self, options: &'static [&'static str]) -> Self {
        self.default = Default::HereWith(options);
        self
    }

    /// Some options are harmless with some values only.
    pub(super) const fn check(mut self, check: Check) -> Self {
        self.check = Some(check);
        self
    }

    /// Judges the words after the first `skip`.
    pub(super) fn judge(&self, argv: &Words, skip: usize) -> Option<Known> {
        let mut reading = Reading {
            shape: self,
            known: Known { lists: self.lists, ..Known::harmless() },
            first: None,
            operands: 0,
            given: false,
            here: matches!(self.default, Default::Here),
        };
        for item in options(argv, skip, self.grammar) {
            match item {
                Item::Option { name, mark, value } => reading.option(name, mark, value)?,
                Item::Operand(word) => reading.operand(word)?,
                Item::Unclear => return None,
            }
        }
        reading.finish()
    }
}

/// A command line while it is judged.
struct Reading<'a, 's> {
    shape: &'s Shape,
    known: Known,
    first: Option<Word<'a>>, // The first operand waits: an option after it can still make it a file.
    operands: usize,         // Those that are files.
    given: bool,
    here: bool,
}

impl<'a> Reading<'a, '_> {
    fn option(&mut self, name: &str, mark: Mark, value: Option<Word<'a>>) -> Option<()> {
        if self.shape.check.is_some_and(|check| !check(name, value)) {
            return None;
        }
        if let (Mark::File, Some(file)) = (mark, value) {
            self.known.read_word(file)?;
        }
        if let Default::HereWith(options) = self.shape.default {
            self.here |= options.contains(&name);
        }
        if let Operands::Pattern(options) | Operands::RevisionsAfterPattern(options) =
            self.shape.operands
        {
            self.given |= options.contains(&name);
        }
        Some(())
    }

    fn operand(&mut self, word: Word<'a>) -> Option<()> {
        match self.shape.operands {
            Operands::None => None,
            Operands::Text => Some(()),
            Operands::Pattern(_) | Operands::RevisionsAfterPattern(_)
                if !self.given && self.first.is_none() =>
            {
                self.first = (word != Word::Many).then_some(word);
                self.first.map(|_| ())
            }
            _ => self.file(word),
        }
    }

    fn file(&mut self, word: Word<'a>) -> Option<()> {
        self.operands += 1;
        match self.shape.operands {
            Operands::Files(most) if self.operands > most => None,
            Operands::Revisions | Operands::RevisionsAfterPattern(_) => {
                let Word::Known(text) = word else { return None };
                git::read_operand(&mut self.known, text);
                Some(())
            }
            _ => self.known.read_word(word),
        }
    }

    fn finish(mut self) -> Option<Known> {
        if let (true, Some(word)) = (self.given, self.first.take()) {
            self.file(word)?;
        }
        if self.here && self.operands == 0 {
            self.known.read(".");
        }
        Some(self.known)
    }
}
