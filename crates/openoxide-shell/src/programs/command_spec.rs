//! The shape of the table: the description of a program, or of one of its subcommands.
//!
//! The table itself is in `programs/*.toml`, and `programs/README.md` explains the keys. The build
//! script turns it into the statics of `spec_table`. They contain no pointers: a list is a range, and a
//! function is a number.

use openoxide_protocol::{CommandClass, VersionControl};

use super::table_entries::{TableRange, TableText, TableTexts};

/// A program, or one of its subcommands.
#[derive(Debug)]
pub(crate) struct CommandSpec {
    /// Its name; of several the first.
    pub(super) name: TableText,
    /// The class if there are only options and operands that change nothing.
    pub(crate) class: CommandClass,
    /// The kinds of the operands.
    pub(super) operands: OperandSpecRow,
    /// Its options: sets, each sorted by name.
    pub(super) options: TableRange,
    /// The overrides that apply with certain options. If several match, the last one applies.
    pub(super) option_overrides: TableRange,
    /// Its subcommands, sorted by name.
    pub(super) subcommands: TableRange,
    /// With one of these options the first operand is one of those that repeat.
    pub(super) given: TableTexts,
    /// With one of these options and no operand it reads the working directory.
    pub(super) here_with: TableTexts,
    /// A word that begins with one of these can make it run something that its words do not show.
    pub(super) opaque: TableTexts,
    /// An operand that holds one of these is not harmless.
    pub(super) except: TableTexts,
    /// With one of these options it prints something else than the lines that it reads.
    pub(super) cuts: TableTexts,
    /// It prints lines of the files below a directory whose names match one of these patterns, also
    /// behind links.
    pub(super) searches: TableTexts,
    /// The function that checks whether this option with this value is harmless, too.
    pub(super) check: Option<u8>,
    /// The function that checks whether only words of letters and digits are printed.
    pub(super) tokens: Option<u8>,
    /// Adds what the values of options do.
    pub(super) values: Option<u8>,
    /// The function that reads the words instead of the generic reader.
    pub(super) reader: Option<u8>,
    /// The reason why the effect without operands is unknown.
    pub(super) alone: Option<TableText>,
    /// The properties of the program or subcommand as a whole.
    pub(crate) traits: CommandTraits,
}

/// The properties of a program as a whole.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct CommandTraits {
    /// Its names are names of one thing: `npm i` is `npm install`.
    pub(crate) aliases: bool,
    /// Whatever its words are, it does nothing but print.
    pub(crate) anything: bool,
    /// Without operands it reads the working directory.
    pub(crate) here: bool,
    /// The program looks at names, sizes and other metadata, but never at contents.
    pub(crate) lists: bool,
    /// The first operand ends the options.
    pub(crate) leading: bool,
    /// An unambiguous prefix of a long option is accepted in its place.
    pub(crate) abbreviations: bool,
    /// Long options have one dash, and single-letter options are never combined.
    pub(crate) single_dash: bool,
    /// The first word is a cluster of options even without a dash.
    pub(crate) bundled: bool,
    /// `-5` is an option.
    pub(crate) numbers: bool,
    /// `+5` and its like are options.
    pub(crate) plus: bool,
    /// `+NAME` is a toolchain of Rust, which is downloaded if it is not there.
    pub(crate) toolchains: bool,
    /// No option of it does more than read and print: a file whose name looks like one cannot hurt.
    pub(crate) inert: bool,
    /// Words with a `=` before the program that it runs are assignments.
    pub(crate) assignments: bool,
    /// The output is a list of file names below the files that the program reads, one per line.
    pub(crate) prints_paths: bool,
    /// The output consists of lines that the program has read.
    pub(crate) passes: bool,
    /// The first operand need not be one of the subcommands.
    pub(crate) mixed: bool,
    /// The contents of a directory that it reads are output as a whole: in an archive, a copy or a
    /// listing of differences.
    pub(crate) copies: bool,
    /// `-` in the place of a file that it writes is its standard output, and no file of this name.
    pub(crate) stdout: bool,
    /// It starts git, so the repository that git finds decides what else runs.
    pub(crate) starts_git: bool,
    /// It looks for the metadata of any version control system, and starts that system.
    pub(crate) starts_vcs: bool,
}

impl CommandTraits {
    /// Returns the version control systems that such a program starts.
    pub(super) const fn version_control(self) -> VersionControl {
        match (self.starts_vcs, self.starts_git) {
            (true, _) => VersionControl::Any,
            (false, true) => VersionControl::Git,
            (false, false) => VersionControl::None,
        }
    }
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionSpec {
    /// Its letter, or its long name.
    pub(crate) name: &'static str,
    /// The kind of value that follows.
    pub(crate) value: OptionValueKind,
    /// The effect of the option.
    pub(crate) effect: OptionEffect,
}

/// An option as stored in the table.
#[derive(Debug)]
pub(super) struct OptionRow {
    pub(super) name: TableText,
    pub(super) value: OptionValueKind,
    pub(super) effect: OptionEffect,
}

/// The kind of value that an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionValueKind {
    /// No value.
    Nothing,
    /// A value, attached or in the next word.
    Value,
    /// A value or nothing, attached.
    Attached,
    /// A value, attached or in the next word. It is missing if there is no next word.
    Last,
    /// A value, attached or in the next word; whatever follows belongs to what it starts.
    Rest,
}

/// The effect of an option, or of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OptionEffect {
    /// No effect except on how the program reads and prints.
    Nothing,
    /// Prints help or a version, and the program does nothing else.
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
    /// The value names a file that is read. Its contents determine what else is read or done.
    ReadsMore,
    /// The value is a command for a shell.
    Runs,
    /// Makes the program run something that is not visible in its words.
    Loads,
}

/// The kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandKind {
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
    /// The name of a package in a registry, perhaps with a version behind it.
    Package,
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
    /// Code, or the location of code.
    Loads,
    /// This operand and those after it are a command that the rule for this program covers. The
    /// effects of the command apply as well.
    Tool,
    /// This and what follows is the program `OUTER-NAME` of `$PATH`, with its words: `cargo audit` is `cargo-audit`.
    Plugin,
    /// The same as `Tool`, in a container: its files are not those of this machine.
    Guest,
}

/// The operands, in order: some, then any number of one kind, then some.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandSpec {
    /// The first ones.
    pub(crate) first: &'static [OperandKind],
    /// Any number.
    pub(crate) repeated: Option<OperandKind>,
    /// The last ones.
    pub(crate) last: &'static [OperandKind],
}

/// The operands as stored in the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperandSpecRow {
    pub(super) first: TableRange,
    pub(super) repeated: Option<OperandKind>,
    pub(super) last: TableRange,
}

/// The overrides that apply if certain options are present.
#[derive(Debug)]
pub(super) struct OptionOverride {
    /// One of these options.
    pub(super) with: TableTexts,
    /// The class.
    pub(super) class: Option<CommandClass>,
    /// The operands.
    pub(super) operands: Option<OperandSpecRow>,
    /// Whether the program is not expected to run anything with these options. Effects that
    /// otherwise only ask then make it opaque.
    pub(super) strict: bool,
    /// Whether the output consists only of file names below the files that the program reads or
    /// below the working directory.
    pub(super) prints_paths: bool,
}

impl OperandKind {
    /// Returns whether a command or script begins with such an operand.
    pub(crate) const fn is_command_start(self) -> bool {
        matches!(self, Self::Runs | Self::Script | Self::Tool | Self::Plugin | Self::Guest)
    }
}

impl OperandSpec {
    /// Returns whether one of the operands is a command or script.
    pub(crate) fn has_command(&self) -> bool {
        let all = self.first.iter().chain(&self.repeated).chain(self.last);
        all.into_iter().any(|kind| kind.is_command_start())
    }
}

impl OptionRow {
    pub(super) fn to_option_spec(&self) -> OptionSpec {
        OptionSpec { name: self.name.as_str(), value: self.value, effect: self.effect }
    }
}

impl CommandSpec {
    /// Returns its name; of several the first.
    pub(crate) fn name(&self) -> &'static str {
        self.name.as_str()
    }

    pub(super) fn missing_operands_reason(&self) -> Option<&'static str> {
        self.alone.map(TableText::as_str)
    }

    /// Returns the option of this very name.
    pub(crate) fn find_option(&self, name: &str) -> Option<OptionSpec> {
        self.option_sets().find_map(|set| {
            let at = set.binary_search_by(|option| option.name.as_str().cmp(name)).ok()?;
            set.get(at).map(OptionRow::to_option_spec)
        })
    }

    /// Returns the long option that the program may take `name` for: the one of this name; the only one that begins with
    /// it, where beginnings are understood; or the worst of those that begin with it, if that one is not harmless.
    pub(crate) fn find_long_option(&self, name: &str) -> Option<OptionSpec> {
        if let Some(exact) = self.find_option(name).filter(|_| name.len() > 1) {
            return Some(exact);
        }
        let all = || self.option_sets().flatten().map(OptionRow::to_option_spec);
        let mut longer =
            all().filter(|option| option.name.len() > 1 && option.name.starts_with(name));
        let worst = longer.clone().max_by_key(|option| option.effect)?;
        if worst.effect >= OptionEffect::Asks {
            return Some(worst);
        }
        let only = longer.next().filter(|_| self.traits.abbreviations && !name.is_empty())?;
        longer.all(|other| other.value == only.value && other.effect == only.effect).then_some(only)
    }

    /// Returns the subcommand of this name.
    pub(crate) fn find_subcommand(&self, name: &str) -> Option<&'static Self> {
        let at = self.subcommands().binary_search_by(|sub| sub.name().cmp(name)).ok()?;
        self.subcommands().get(at)?.spec()
    }
}
