//! The meaning of a command as far as it can be determined from its words.

use std::borrow::Cow;

use openoxide_protocol::{CommandClass, CommandWords, FileSearch, SqliteDatabase, VersionControl};

use super::{ArgumentWord, Argv, WordSource, table_entries::TableTexts};

/// The reason why the effect of a command is unknown.
pub(super) const UNKNOWN_FILE: &str = "it reads or changes a file that is not known";

/// The effects of a command as far as they can be determined from its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommandMeaning {
    /// The class of the command as a whole.
    pub(crate) class: CommandClass,
    /// The effects of the command, in order.
    pub(crate) effects: Vec<CommandEffect>,
    /// The directory in which the command works, if it is not the current one. Relative names are
    /// resolved there.
    pub(crate) working_directory: Option<String>,
    /// The kind of output.
    pub(crate) output: OutputKind,
    /// The files whose names the command can print, or `None` if they can be any files.
    pub(crate) printed_files: Option<Box<FileSearch>>,
    /// The command without the options before its subcommand, and with the subcommand's canonical
    /// name, if it was written differently.
    pub(crate) canonical_words: Option<CommandWords>,
    /// The version control systems that the command starts.
    pub(crate) version_control: VersionControl,
    /// Words that git interprets as a configured remote, or as a directory of that name.
    pub(crate) remotes: Vec<String>,
    /// The SQLite databases that the command opens.
    pub(crate) databases: Vec<SqliteDatabase>,
    /// Whether the program's harmless options were never verified by running it.
    pub(crate) unproved: bool,
    /// Whether the command only prints help or its version.
    pub(crate) only_ends: bool,
}

/// One effect of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CommandEffect {
    /// Reads this file, or everything below this directory.
    Reads(EffectTarget),
    /// Reads names, sizes and other metadata.
    ReadsMetadata(EffectTarget),
    /// Searches the files below this directory and prints lines from them.
    Searches(EffectTarget, FileSearch),
    /// Creates, changes or removes this file or directory.
    Writes(EffectTarget),
    /// Changes files below this directory whose names another program has printed.
    ChangesFound(EffectTarget, FileSearch),
    /// Writes to standard output or standard error through its name in `/dev`.
    WritesDescriptor(String),
    /// Reaches this host or address.
    Reaches(String),
    /// Runs this command.
    Runs(Argv),
    /// Runs this command, and a rule for the outer command covers it. The effects of the inner
    /// command apply as well.
    Tool(Argv),
    /// Runs this command in a container.
    GuestCommand(Argv),
    /// Runs this script in a shell.
    Script(String),
    /// Has an unknown effect, for this reason.
    Unknown(Cow<'static, str>),
    /// Contains a word that could be an option that is not harmless.
    MayBeOption(PossibleOption),
}

/// An option that a word could be if the word is not known before the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PossibleOption {
    /// The index of the word.
    pub(crate) index: usize,
    /// The shell pattern in the word, if it is one. It is that option only if a file has such a
    /// name.
    pub(crate) pattern: Option<String>,
    /// The prefixes of the names of such files, separated by blanks. A prefix with a `*` before it
    /// can occur anywhere in the name.
    pub(crate) names: String,
    /// A description of the option for use in a sentence: "the option `--pre`, which runs a
    /// command".
    pub(crate) what: String,
}

impl CommandEffect {
    /// Returns whether this is another command, whose words are checked separately.
    pub(crate) const fn is_command(&self) -> bool {
        matches!(self, Self::Runs(_) | Self::Tool(_) | Self::GuestCommand(_) | Self::Script(_))
    }

    /// Discards the information which files the words of a command refer to. In another directory
    /// the same names refer to other files.
    pub(crate) fn forget_paths(&mut self) {
        if let Self::Runs(command) | Self::Tool(command) | Self::GuestCommand(command) = self {
            command.paths.clear();
        }
    }
}

/// A file or files that are read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EffectTarget {
    File(String),
    /// The files that match this pattern.
    Pattern(String),
    /// Files below this directory. Another program has printed their names.
    Printed(String),
}

impl EffectTarget {
    /// Returns a target for some of the files below `root`. Names that a program has printed are
    /// below an absolute path.
    fn descendants_of(root: &str) -> Self {
        if root.starts_with('/') {
            Self::Printed(root.to_owned())
        } else {
            Self::File(root.to_owned())
        }
    }
}

/// The kind of output of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputKind {
    #[default]
    Anything,
    /// File names below the paths that the command examines, one per line. They are `bare`, or
    /// begin with the given paths.
    FileNames { bare: bool },
    /// Lines that the command has read.
    InputLines,
    /// Words of letters and digits, such as names of commits or process IDs.
    Tokens,
}

impl CommandMeaning {
    /// Returns the meaning of a command of this class without any effects.
    pub(crate) const fn new(class: CommandClass) -> Self {
        Self {
            class,
            effects: Vec::new(),
            working_directory: None,
            output: OutputKind::Anything,
            printed_files: None,
            canonical_words: None,
            version_control: VersionControl::None,
            remotes: Vec::new(),
            databases: Vec::new(),
            unproved: false,
            only_ends: false,
        }
    }

    /// Returns the meaning of a command about which nothing is known.
    pub(crate) const fn new_unknown() -> Self {
        Self::new(CommandClass::Unknown)
    }

    /// Lowers the class to `class` if `class` is less harmless.
    pub(crate) fn lower_class(&mut self, class: CommandClass) {
        self.class = self.class.max(class);
    }

    /// Records that symbolic links below the directories that are read lead to files that are also
    /// read.
    pub(crate) fn follow_links(&mut self) {
        for effect in &mut self.effects {
            if let CommandEffect::Reads(target) = effect
                && let EffectTarget::File(file) = target
            {
                *target = EffectTarget::Printed(std::mem::take(file));
            }
        }
    }

    /// Records that the command outputs the contents of everything below the directories that it
    /// reads.
    pub(crate) fn read_whole_directories(&mut self) {
        let read = self.effects.iter().filter_map(|effect| match effect {
            CommandEffect::Reads(EffectTarget::File(root) | EffectTarget::Printed(root)) => {
                Some(EffectTarget::File(root.clone()))
            }
            _ => None,
        });
        let whole: Vec<_> =
            read.map(|target| CommandEffect::Searches(target, FileSearch::all_files())).collect();
        self.effects.extend(whole);
    }

    /// Records that a program reads `FILE.gz`, `FILE-z` or similar if there is no `FILE`. A program
    /// that does not know the extension of `FILE.xz` tries `FILE.xz.gz`.
    pub(crate) fn add_compressed_names(&mut self) {
        self.add_names_with_endings(&[".*", "-*z"]);
    }

    /// Records that a program reads a file whose name is the one that it is given and one of
    /// `endings`, which are patterns.
    pub(crate) fn add_names_with_endings(&mut self, endings: &[&str]) {
        let read = self.effects.iter().filter_map(|effect| match effect {
            CommandEffect::Reads(EffectTarget::File(file) | EffectTarget::Printed(file)) => {
                Some(file)
            }
            _ => None,
        });
        let named: Vec<_> = read
            .flat_map(|file| endings.iter().map(move |ending| format!("{file}{ending}")))
            .map(|pattern| CommandEffect::Reads(EffectTarget::Pattern(pattern)))
            .collect();
        self.effects.extend(named);
    }

    /// Records that the command outputs lines of the files that match one of `patterns` below the
    /// directories that it reads, also through symbolic links.
    pub(super) fn search_directories(&mut self, patterns: TableTexts) {
        let patterns: Vec<&str> = patterns.iter().collect();
        let names = patterns.iter().filter(|pattern| **pattern != ".");
        let include_patterns: Vec<String> = names.map(ToString::to_string).collect();
        if include_patterns.is_empty() {
            return;
        }
        let here = patterns.contains(&".").then(|| EffectTarget::File(".".to_owned()));
        let search =
            FileSearch { include_patterns, follows_links: true, ..FileSearch::all_files() };
        let read = self.effects.iter().filter_map(|effect| match effect {
            CommandEffect::Reads(EffectTarget::File(root) | EffectTarget::Printed(root)) => {
                Some(EffectTarget::File(root.clone()))
            }
            _ => None,
        });
        let searches: Vec<_> = read
            .chain(here)
            .map(|target| CommandEffect::Searches(target, search.clone()))
            .collect();
        self.effects.extend(searches);
    }

    pub(crate) fn add_read(&mut self, arg: ArgumentWord<'_>, lists: bool) {
        if !lists && self.reaches_instead(arg) {
            return;
        }
        let effect = if lists { CommandEffect::ReadsMetadata } else { CommandEffect::Reads };
        match arg {
            ArgumentWord::Known("-" | "/dev/stdin" | "/dev/null") => {}
            ArgumentWord::Known(file) => {
                self.effects.push(effect(EffectTarget::File(file.to_owned())));
            }
            ArgumentWord::Files(WordSource::Pattern(pattern)) => {
                self.effects.push(effect(EffectTarget::Pattern(pattern.clone())));
            }
            ArgumentWord::Files(WordSource::DescendantsOf { roots, search, .. }) => {
                // Everything found there is read, including files that symbolic links lead to.
                let found = |root: &String| effect(EffectTarget::Printed(root.clone()));
                self.effects.extend(roots.iter().map(found));
                if let Some(search) = search.as_ref().filter(|_| !lists) {
                    let found = |root: &String| {
                        CommandEffect::Searches(
                            EffectTarget::File(root.clone()),
                            FileSearch::clone(search),
                        )
                    };
                    self.effects.extend(roots.iter().map(found));
                }
            }
            ArgumentWord::Files(
                WordSource::StandardInput { .. } | WordSource::Tokens | WordSource::Number,
            )
            | ArgumentWord::Prefix(_)
            | ArgumentWord::Many => {
                self.lower_class(CommandClass::Unknown);
            }
        }
    }

    pub(crate) fn add_write(&mut self, arg: ArgumentWord<'_>) {
        match arg {
            ArgumentWord::Known(file) if discards_output(file) => return,
            ArgumentWord::Known(file @ ("/dev/stdout" | "/dev/stderr")) => {
                return self.effects.push(CommandEffect::WritesDescriptor(file.to_owned()));
            }
            ArgumentWord::Files(WordSource::DescendantsOf { roots, .. }) if roots.is_empty() => {
                return;
            }
            ArgumentWord::Known(file) => {
                self.effects.push(CommandEffect::Writes(EffectTarget::File(file.to_owned())));
            }
            ArgumentWord::Files(WordSource::Pattern(pattern)) => {
                self.effects.push(CommandEffect::Writes(EffectTarget::Pattern(pattern.clone())));
            }
            ArgumentWord::Files(WordSource::DescendantsOf { roots, search, .. }) => {
                let target =
                    |root: &String| CommandEffect::Writes(EffectTarget::descendants_of(root));
                self.effects.extend(roots.iter().map(target));
                let is_printed = |root: &&String| search.is_some() || root.starts_with('/');
                let searched = search.as_deref().cloned().unwrap_or_else(FileSearch::all_files);
                let found = |root: &String| {
                    CommandEffect::ChangesFound(EffectTarget::File(root.clone()), searched.clone())
                };
                self.effects.extend(roots.iter().filter(is_printed).map(found));
            }
            ArgumentWord::Files(
                WordSource::StandardInput { .. } | WordSource::Tokens | WordSource::Number,
            )
            | ArgumentWord::Prefix(_)
            | ArgumentWord::Many => {
                self.lower_class(CommandClass::Unknown);
                self.add_unknown_effect(UNKNOWN_FILE);
            }
        }
        self.lower_class(CommandClass::Edits);
    }

    pub(crate) fn add_host(&mut self, arg: ArgumentWord<'_>) {
        self.lower_class(CommandClass::Unknown);
        let (ArgumentWord::Known(address) | ArgumentWord::Prefix(address)) = arg else { return };
        if let Some((scheme, rest)) = address.split_once(':')
            && scheme.eq_ignore_ascii_case("file")
        {
            self.add_file_url(rest, matches!(arg, ArgumentWord::Known(_)));
        } else if let ArgumentWord::Known(address) = arg {
            self.effects.push(CommandEffect::Reaches(address.to_owned()));
        }
    }

    /// Adds the host of an operand that contains `scheme://`, which many programs fetch instead of
    /// reading a file. A pattern that matches no file is also such an operand.
    fn reaches_instead(&mut self, arg: ArgumentWord<'_>) -> bool {
        match arg {
            ArgumentWord::Known(text) => {
                let address = address_in(text);
                address.inspect(|address| self.add_host(ArgumentWord::Known(address))).is_some()
            }
            ArgumentWord::Files(WordSource::Pattern(pattern)) if address_in(pattern).is_some() => {
                self.lower_class(CommandClass::Unknown);
                false
            }
            _ => false,
        }
    }

    /// Adds a read of the file that an address names. An address with patterns or percent-encoding
    /// refers to an unknown file.
    fn add_file_url(&mut self, rest: &str, whole: bool) {
        let path = match rest.strip_prefix("//") {
            Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
            None => rest,
        };
        if !whole || path.contains(['%', '{', '[', '*']) {
            self.add_unknown_effect(UNKNOWN_FILE);
        }
        self.add_read(ArgumentWord::Known(path), false);
    }

    /// Adds that the script in `arg` runs in a shell.
    pub(crate) fn add_script(&mut self, arg: ArgumentWord<'_>) {
        match arg {
            ArgumentWord::Known(script) => {
                self.effects.push(CommandEffect::Script(script.to_owned()));
            }
            _ => self.add_unknown_effect("runs a script that is not known"),
        }
    }

    /// Returns whether the command has an effect that its words do not show.
    pub(crate) fn is_opaque(&self) -> bool {
        self.effects.iter().any(|effect| matches!(effect, CommandEffect::Unknown(_)))
    }

    /// Records an unknown effect and its reason.
    pub(crate) fn add_unknown_effect(&mut self, why: impl Into<Cow<'static, str>>) {
        self.effects.push(CommandEffect::Unknown(why.into()));
    }

    pub(super) fn set_working_directory(&mut self, to: Option<ArgumentWord<'_>>) {
        match (to, self.working_directory.take()) {
            (Some(ArgumentWord::Known(to)), Some(from)) if !to.starts_with('/') => {
                self.working_directory = Some(format!("{from}/{to}"));
            }
            (Some(ArgumentWord::Known(to)), _) => self.working_directory = Some(to.to_owned()),
            _ => {
                self.lower_class(CommandClass::Unknown);
                self.add_unknown_effect("works in a directory that is not known");
            }
        }
    }
}

/// Returns the address in a word, such as `https://x.io/a` or that of `/vsicurl/https://x.io/a`.
pub(crate) fn address_in(text: &str) -> Option<&str> {
    let end = text.find("://")?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    let length = text.bytes().take(end).rev().take_while(|byte| is_scheme(*byte)).count();
    text.get(end - length..).filter(|_| length > 0)
}

/// Returns whether data written to this file is discarded.
fn discards_output(file: &str) -> bool {
    matches!(file, "/dev/null" | "/dev/tty" | "/dev/full")
}
