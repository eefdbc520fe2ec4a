//! What is known of a program, or of one of its subcommands: the shape of the table.
//!
//! The table itself lies in `programs/*.toml` (`programs/README.md` explains the keys); the build script turns it into
//! the statics at the end of this file.

use openoxide_protocol::CommandClass;

use super::{Arg, Arguments, Meaning, hash, readers};

/// A program, or one of its subcommands.
#[derive(Debug)]
pub(crate) struct Level {
    /// Its name; of several the first.
    pub(crate) name: &'static str,
    /// What it is with nothing but options and operands that change nothing.
    pub(crate) class: CommandClass,
    /// What its operands are.
    pub(crate) operands: Operands,
    /// Its options: sets, each sorted by name.
    pub(crate) options: &'static [&'static [OptRow]],
    /// What holds instead with certain options; the last that fits counts.
    pub(crate) whens: &'static [When],
    /// Its subcommands, sorted by name.
    pub(crate) subs: &'static [(&'static str, &'static Self)],
    /// With one of these options the first operand is one of those that repeat.
    pub(crate) given: &'static [&'static str],
    /// With one of these options and no operand it reads the working directory.
    pub(crate) here_with: &'static [&'static str],
    /// A word that begins with one of these can make it run something that its words do not show.
    pub(crate) opaque: &'static [&'static str],
    /// An operand that holds one of these is not harmless.
    pub(crate) except: &'static [&'static str],
    /// With one of these options it prints something else than the lines that it reads.
    pub(crate) cuts: &'static [&'static str],
    /// Says whether this option with this value is harmless, too.
    pub(crate) check: Option<Check>,
    /// Says whether it prints nothing but words of letters and digits.
    pub(crate) tokens: Option<Tokens>,
    /// Adds what the values of options do.
    pub(crate) values: Option<Values>,
    /// Reads the words in a way of its own.
    pub(crate) reader: Option<Reader>,
    /// Why it cannot be told what it does without operands.
    pub(crate) alone: Option<&'static str>,
    /// What is true of it as a whole.
    pub(crate) traits: Traits,
}

/// A function that says what the words from the given one on mean.
pub(crate) type Reader = fn(&'static Level, Arguments<'_>, usize) -> Meaning;

/// Says whether an option with its value is harmless.
pub(crate) type Check = fn(&str, Option<Arg<'_>>) -> bool;

/// Says whether with these options and operands nothing is printed but words of letters and digits.
pub(crate) type Tokens = fn(&[(&str, Option<Arg<'_>>)], &[Arg<'_>]) -> bool;

/// Adds what the value of an option does.
pub(crate) type Values = fn(&mut Meaning, &str, Option<Arg<'_>>);

/// What is true of a program as a whole.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Traits {
    /// Its names are names of one thing: `npm i` is `npm install`.
    pub(crate) aliases: bool,
    /// Whatever its words are, it does nothing but print.
    pub(crate) anything: bool,
    /// Without operands it reads the working directory.
    pub(crate) here: bool,
    /// It looks at names, sizes and the like, never at contents.
    pub(crate) lists: bool,
    /// The first operand ends the options.
    pub(crate) leading: bool,
    /// An unambiguous beginning of a long option stands for it.
    pub(crate) abbreviations: bool,
    /// Long options have one dash, and letters are never put together.
    pub(crate) single_dash: bool,
    /// The first word is a cluster of options even without a dash.
    pub(crate) bundled: bool,
    /// `-5` is an option.
    pub(crate) numbers: bool,
    /// `+5` and its like are options.
    pub(crate) plus: bool,
    /// No option of it does more than read and print: a file whose name looks like one cannot hurt.
    pub(crate) inert: bool,
    /// Words with a `=` before the program that it runs are assignments.
    pub(crate) assignments: bool,
    /// What it prints are names of files below those that it reads, one a line.
    pub(crate) prints_paths: bool,
    /// What it prints are lines that it has read.
    pub(crate) passes: bool,
    /// Its first operand need not be one of its subcommands.
    pub(crate) mixed: bool,
    /// `-` in the place of a file that it writes is its standard output, and no file of this name.
    pub(crate) stdout: bool,
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opt {
    /// Its letter, or its long name.
    pub(crate) name: &'static str,
    /// Whether a value follows.
    pub(crate) takes: Takes,
    /// What it does.
    pub(crate) does: Does,
}

/// An option as it lies in the table. There are 24,000 of them: with a pointer in each, half a megabyte would have to be relocated
/// before the program starts.
#[derive(Debug)]
pub(crate) struct OptRow {
    /// Where its name begins in [`NAMES`], and how long it is.
    at: u32,
    length: u8,
    takes: Takes,
    does: Does,
}

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing.
    Nothing,
    /// A value, attached or in the next word.
    Value,
    /// A value or nothing, attached.
    Attached,
    /// A value, attached or in the next word, or nothing if there is no next word.
    Last,
    /// A value, attached or in the next word; whatever follows belongs to what it starts.
    Rest,
}

/// What an option does, or what its value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Does {
    /// Nothing but change how the program reads and prints.
    Nothing,
    /// It prints a help or version, and the program does nothing else.
    Ends,
    /// The value names a file that is read.
    Reads,
    /// The value is a directory in which the program works.
    Moves,
    /// Something that is not harmless.
    Asks,
    /// The value names a file that is made, changed or removed.
    Writes,
    /// The value is a directory into which the operands go.
    Into,
    /// The value is a host or an address.
    Reaches,
    /// The value is a directory of this machine and where it is seen in a container, or a name.
    Mounts,
    /// The value names a file that is read, and what it holds says what else is read or done.
    ReadsMore,
    /// The value is a command for a shell.
    Runs,
    /// It makes the program run something that its words do not show.
    Loads,
}

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// A text.
    Text,
    /// A file or directory that is read.
    Reads,
    /// A revision or path of git.
    Revision,
    /// A path of git, which can be a pattern.
    Pathspec,
    /// A file or address of Subversion, perhaps with a revision behind it.
    Peg,
    /// A remote of git: its name, an address, or a directory.
    Remote,
    /// A file that is made, changed or removed.
    Writes,
    /// A file that is read and changed or removed.
    Changes,
    /// A file that the files before it become, or a directory into which they go.
    Into,
    /// A host or an address.
    Reaches,
    /// Not harmless.
    Asks,
    /// This and what follows is a command.
    Runs,
    /// This and what follows, with blanks between them, is a script.
    Script,
    /// Code, or where it lies.
    Loads,
}

/// The operands, in order: some, then any number of one kind, then some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Operands {
    /// The first ones.
    pub(crate) first: &'static [Operand],
    /// Any number.
    pub(crate) repeated: Option<Operand>,
    /// The last ones.
    pub(crate) last: &'static [Operand],
}

/// What holds instead with certain options.
#[derive(Debug)]
pub(crate) struct When {
    /// One of these options.
    pub(crate) with: &'static [&'static str],
    /// The class.
    pub(crate) class: Option<CommandClass>,
    /// The operands.
    pub(crate) operands: Option<Operands>,
    /// Whether nobody expects it to run anything: then what otherwise only asks makes it opaque.
    pub(crate) strict: bool,
    /// It prints names of files that lie below those that it reads, or below the working directory, and nothing else.
    pub(crate) prints_paths: bool,
}

impl Operands {
    /// Says whether a command or script is among them.
    pub(crate) fn run(&self) -> bool {
        let all = self.first.iter().chain(&self.repeated).chain(self.last);
        all.into_iter().any(|kind| matches!(kind, Operand::Runs | Operand::Script))
    }
}

impl OptRow {
    fn name(&self) -> &'static str {
        let at = self.at as usize;
        // INVARIANT: the build script has put the name there.
        NAMES.get(at..at + usize::from(self.length)).unwrap_or_default()
    }

    pub(crate) fn option(&self) -> Opt {
        Opt { name: self.name(), takes: self.takes, does: self.does }
    }
}

impl Level {
    /// Returns the option of this very name.
    pub(crate) fn option(&self, name: &str) -> Option<Opt> {
        self.options.iter().find_map(|set| {
            let at = set.binary_search_by(|option| option.name().cmp(name)).ok()?;
            set.get(at).map(OptRow::option)
        })
    }

    /// Returns the long option that the program may take `name` for: the one of this name; the only one that begins with
    /// it, where beginnings are understood; or the worst of those that begin with it, if that one is not harmless.
    pub(crate) fn long_option(&self, name: &str) -> Option<Opt> {
        if let Some(exact) = self.option(name).filter(|_| name.len() > 1) {
            return Some(exact);
        }
        let all = || self.options.iter().copied().flatten().map(OptRow::option);
        let mut longer =
            all().filter(|option| option.name.len() > 1 && option.name.starts_with(name));
        let worst = longer.clone().max_by_key(|option| option.does)?;
        if worst.does >= Does::Asks {
            return Some(worst);
        }
        let only = longer.next().filter(|_| self.traits.abbreviations && !name.is_empty())?;
        longer.all(|other| other.takes == only.takes && other.does == only.does).then_some(only)
    }

    /// Returns the subcommand of this name.
    pub(crate) fn sub(&self, name: &str) -> Option<&'static Self> {
        let at = self.subs.binary_search_by(|(sub, _)| (*sub).cmp(name)).ok()?;
        self.subs.get(at).map(|(_, level)| *level)
    }
}

/// Returns what is known of the program of this name.
pub(crate) fn program(name: &str) -> Option<&'static Level> {
    let mut slot = hash::slot(name);
    loop {
        // INVARIANT: the build script leaves slots empty, so the search ends.
        let number = *SLOTS.get(slot % SLOTS.len())?;
        let (found, level) = PROGRAMS.get(usize::from(number).checked_sub(1)?)?;
        if *found == name {
            return Some(level);
        }
        slot += 1;
    }
}

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// Returns every program with what is known of it.
#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = (&'static str, &'static Level)> {
    PROGRAMS.iter().copied()
}
