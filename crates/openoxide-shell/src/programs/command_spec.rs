//! The structure of the table: the description of a program, or of one of its subcommands.
//!
//! The table itself is in `programs/*.toml`, and `programs/README.md` explains the keys. The build
//! script converts it to the statics of `spec_table`. They contain no pointers: a list is a range,
//! and a function is a number.

use openoxide_protocol::{CommandClass, VersionControl};

use super::table_entries::{TableRange, TableText, TableTexts};

/// A program, or one of its subcommands.
#[derive(Debug)]
pub(crate) struct CommandSpec {
    /// The name, or the first name if there are several.
    pub(super) name: TableText,
    /// The class if all options and operands leave it unchanged.
    pub(crate) class: CommandClass,
    /// The kinds of the operands.
    pub(super) operands: OperandSpecRow,
    /// The options: sets, each sorted by name.
    pub(super) options: TableRange,
    /// The overrides that apply with certain options. If several match, the last one applies.
    pub(super) option_overrides: TableRange,
    /// The subcommands, sorted by name.
    pub(super) subcommands: TableRange,
    /// Options that provide the first operand. If one is present, the first operand is already one
    /// of the repeated operands.
    pub(super) given: TableTexts,
    /// Options with which the program reads the working directory if there are no operands.
    pub(super) here_with: TableTexts,
    /// Prefixes of words that can make the program run something that its words do not show.
    pub(super) opaque: TableTexts,
    /// Texts that an operand must not contain to be harmless.
    pub(super) except: TableTexts,
    /// Signs other than `-` with which no option of the program begins.
    pub(super) plain_signs: TableTexts,
    /// Options with which the output does not consist of the lines that the program reads.
    pub(super) cuts: TableTexts,
    /// Patterns of file names. The program prints lines of the matching files below a directory,
    /// also through symbolic links.
    pub(super) searches: TableTexts,
    /// The function that checks whether an option with its value is harmless, too.
    pub(super) check: Option<u8>,
    /// The function that checks whether the output consists only of words of letters and digits.
    pub(super) tokens: Option<u8>,
    /// The function that adds the effects of the values of options.
    pub(super) values: Option<u8>,
    /// The function that reads the words instead of the generic reader.
    pub(super) reader: Option<u8>,
    /// The reason why the effect without operands is unknown.
    pub(super) alone: Option<TableText>,
    /// The properties of the program or subcommand as a whole.
    pub(crate) traits: CommandTraits,
}

/// The properties of a program or subcommand as a whole.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct CommandTraits {
    /// Whether the names are synonyms: `npm i` is `npm install`.
    pub(crate) aliases: bool,
    /// Whether it only prints, no matter which words it is given.
    pub(crate) anything: bool,
    /// Whether it reads the working directory if there are no operands.
    pub(crate) here: bool,
    /// Whether it reads names, sizes and other metadata, but never contents.
    pub(crate) lists: bool,
    /// Whether the first operand ends the options.
    pub(crate) leading: bool,
    /// Whether unambiguous prefixes of long options are accepted.
    pub(crate) abbreviations: bool,
    /// Whether long options have one dash and single-letter options are never combined.
    pub(crate) single_dash: bool,
    /// Whether the first word is a cluster of options even without a dash.
    pub(crate) bundled: bool,
    /// Whether the values of short options are the next words, also after a cluster of letters.
    pub(crate) separate_values: bool,
    /// Whether `-5` is an option.
    pub(crate) numbers: bool,
    /// Whether words such as `+5` are options.
    pub(crate) plus: bool,
    /// Whether `+NAME` selects a Rust toolchain, which is downloaded if it is not installed.
    pub(crate) toolchains: bool,
    /// Whether all options only read and print. A file whose name looks like an option is then
    /// harmless.
    pub(crate) inert: bool,
    /// Whether words with a `=` before the program that it runs are assignments.
    pub(crate) assignments: bool,
    /// Whether the output is a list of file names below the files that it reads, one per line.
    pub(crate) prints_paths: bool,
    /// Whether the output consists of lines that it has read.
    pub(crate) passes: bool,
    /// Whether the first operand may be something other than a subcommand.
    pub(crate) mixed: bool,
    /// Whether the contents of a directory that it reads are output as a whole: in an archive, a
    /// copy or a list of differences.
    pub(crate) copies: bool,
    /// Whether `-` instead of a file that it writes means standard output, and not a file of this
    /// name.
    pub(crate) stdout: bool,
    /// Whether it starts git. The repository that git finds then determines what else runs.
    pub(crate) starts_git: bool,
    /// Whether it looks for the metadata of any version control system, and starts that system.
    pub(crate) starts_vcs: bool,
}

impl CommandTraits {
    /// Returns the version control systems that a program with these properties starts.
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
    /// The letter or the long name.
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
    /// An optional value, attached.
    Attached,
    /// A value, attached or in the next word. It is missing if there is no next word.
    Last,
    /// A value, attached or in the next word. All words after it belong to the command that it
    /// starts.
    Rest,
}

/// The effect of an option, or of its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OptionEffect {
    /// Affects only how the program reads and prints.
    Nothing,
    /// Makes the program print only help or a version.
    Ends,
    /// The value names a file that is read.
    Reads,
    /// The value is a directory in which the program works.
    Moves,
    /// Has an effect that is not harmless.
    Asks,
    /// The value names a file that is created, changed or removed.
    Writes,
    /// The value is a directory that receives the operands.
    Into,
    /// The value is a host or an address.
    Reaches,
    /// The value is a directory of the host and its location in a container, or a name.
    Mounts,
    /// The value names a file that is read. Its contents determine what else is read or done.
    ReadsMore,
    /// The value is a shell command.
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
    /// A file or address of Subversion, optionally with a revision after it.
    Peg,
    /// The name of a package in a registry, optionally with a version after it.
    Package,
    /// A remote of git: its name, an address, or a directory.
    Remote,
    /// A file that is created, changed or removed.
    Writes,
    /// A file that is read and changed or removed.
    Changes,
    /// The destination of the files before it: a file that they replace, or a directory.
    Into,
    /// A host or an address.
    Reaches,
    /// An operand that is not harmless.
    Asks,
    /// The first word of a command. The words after it belong to the command.
    Runs,
    /// The first word of a script. The script consists of this word and the words after it, joined
    /// by blanks.
    Script,
    /// Code, or the location of code.
    Loads,
    /// This operand and those after it are a command that the rule for this program covers. The
    /// effects of the command apply as well.
    Tool,
    /// The name of a plug-in: `cargo audit` runs `cargo-audit` from `$PATH`. The words after it are
    /// the arguments of that program.
    Plugin,
    /// A command like `Tool`, but in a container. Its files are not those of the host.
    Guest,
}

/// The kinds of the operands, in order: fixed ones, any number of one kind, then fixed ones.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OperandSpec {
    /// The kinds of the first operands.
    pub(crate) first: &'static [OperandKind],
    /// The kind of the operands in the middle, of which there can be any number.
    pub(crate) repeated: Option<OperandKind>,
    /// The kinds of the last operands.
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
    /// The options, of which at least one must be present.
    pub(super) with: TableTexts,
    /// The class with these options, if it differs.
    pub(super) class: Option<CommandClass>,
    /// The kinds of the operands with these options, if they differ.
    pub(super) operands: Option<OperandSpecRow>,
    /// Whether the program is not expected to run anything with these options. Effects that
    /// otherwise only ask then make it opaque.
    pub(super) strict: bool,
    /// Whether the output consists only of file names below the files that the program reads or
    /// below the working directory.
    pub(super) prints_paths: bool,
}

impl OperandKind {
    /// Returns whether a command or script begins with an operand of this kind.
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
    /// Returns the name, or the first name if there are several.
    pub(crate) fn name(&self) -> &'static str {
        self.name.as_str()
    }

    pub(super) fn missing_operands_reason(&self) -> Option<&'static str> {
        self.alone.map(TableText::as_str)
    }

    /// Returns the option with exactly this name.
    pub(crate) fn find_option(&self, name: &str) -> Option<OptionSpec> {
        self.option_sets().find_map(|set| {
            let at = set.binary_search_by(|option| option.name.as_str().cmp(name)).ok()?;
            set.get(at).map(OptionRow::to_option_spec)
        })
    }

    /// Returns the long option that `name` may refer to. It is the option with this name, or the
    /// most harmful option that begins with it if that one is not harmless. Otherwise, if the
    /// program accepts abbreviations, it is the only option that begins with it.
    ///
    /// An abbreviation never stands for `--help` or `--version`: a version of the program that does
    /// not accept it, or for which it is ambiguous, does its work (`npm test --he` runs the tests).
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
        let only = Some(only).filter(|only| only.effect != OptionEffect::Ends)?;
        longer.all(|other| other.value == only.value && other.effect == only.effect).then_some(only)
    }

    /// Returns the subcommand of this name.
    pub(crate) fn find_subcommand(&self, name: &str) -> Option<&'static Self> {
        let at = self.subcommands().binary_search_by(|sub| sub.name().cmp(name)).ok()?;
        self.subcommands().get(at)?.spec()
    }
}
