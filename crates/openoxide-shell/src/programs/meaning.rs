//! The meaning of a command as far as it can be determined from its words.

use openoxide_protocol::{CommandClass, CommandWords, FileSearch, SqliteDatabase, VersionControl};

use super::{Arg, Argv, Paths};

/// The reason why the effect of a command is unknown.
pub(super) const UNKNOWN_FILE: &str = "it reads or changes a file that is not known";

/// The effects of a command as far as they can be determined from its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The class of the command as a whole.
    pub(crate) class: CommandClass,
    /// The effects of the command, in order.
    pub(crate) effects: Vec<Effect>,
    /// The directory in which it works, if that is another; relative names begin there.
    pub(crate) place: Option<String>,
    /// The kind of output.
    pub(crate) prints: Prints,
    /// The files whose names the command can print, or `None` if they can be any files.
    pub(crate) printed: Option<Box<FileSearch>>,
    /// The command without the options before its subcommand, and with the subcommand's own name, if it was written otherwise.
    pub(crate) plain: Option<CommandWords>,
    /// The version control systems that it starts.
    pub(crate) starts: VersionControl,
    /// Words that git takes for a configured remote, or for a directory of that name.
    pub(crate) remotes: Vec<String>,
    /// The data bases of SQLite that it opens.
    pub(crate) databases: Vec<SqliteDatabase>,
    /// Whether the program's harmless options were never verified by running it.
    pub(crate) unproved: bool,
    /// Whether it only prints help or its version.
    pub(crate) only_ends: bool,
}

/// One thing that a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Reads this file, or everything below this directory.
    Reads(Target),
    /// Looks at names, sizes and other metadata.
    Lists(Target),
    /// Searches the files below this directory and prints lines of them.
    Searches(Target, FileSearch),
    /// Creates, changes or removes this.
    Writes(Target),
    /// Writes to standard output or standard error by its name in `/dev`.
    WritesDescriptor(String),
    /// Reaches this host or address.
    Reaches(String),
    /// Runs this command.
    Runs(Argv),
    /// Runs this command, and a rule for the outer command covers it. The effects of the inner
    /// command apply as well.
    Tool(Argv),
    /// Runs this command in a container.
    Guest(Argv),
    /// Has a shell run this script.
    Script(String),
    /// Does something unknown, for this reason.
    Unknown(&'static str),
    /// One of its words could be an option that is not harmless.
    MayBeOption(PossibleOption),
}

/// An option that a word could be which is not known before the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PossibleOption {
    /// The index of the word.
    pub(crate) index: usize,
    /// The pattern of the shell that the word is: then it is that option only if a file has such a name.
    pub(crate) pattern: Option<String>,
    /// The prefixes of the names of such files, separated by blanks. A prefix with a `*` before it
    /// can occur anywhere in the name.
    pub(crate) names: String,
    /// A description of the option for use in a sentence: "the option `--pre`, which runs a
    /// command".
    pub(crate) what: String,
}

impl Effect {
    /// Returns whether it is another command, whose words are checked separately.
    pub(crate) const fn is_command(&self) -> bool {
        matches!(self, Self::Runs(_) | Self::Tool(_) | Self::Guest(_) | Self::Script(_))
    }

    /// Forgets which files the words of a command stand for. In another directory the same names
    /// belong to other files.
    pub(crate) fn forget_paths(&mut self) {
        if let Self::Runs(command) | Self::Tool(command) | Self::Guest(command) = self {
            command.paths.clear();
        }
    }
}

/// A file or files that are read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    File(String),
    /// The files that match this pattern.
    Pattern(String),
    /// Files below this directory, whose names another program has printed.
    Printed(String),
}

impl Target {
    /// Returns a target for some of the files below `root`. Names that a program has printed are
    /// below an absolute path.
    fn below(root: &str) -> Self {
        if root.starts_with('/') {
            Self::Printed(root.to_owned())
        } else {
            Self::File(root.to_owned())
        }
    }
}

/// The kind of output of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prints {
    #[default]
    Anything,
    /// Names of files below those that it looks at, one a line: `bare` ones, or such that begin with what it was given.
    Paths { bare: bool },
    /// Lines that it has read.
    Input,
    /// Words of letters and digits: names of commits, numbers of processes.
    Tokens,
}

impl Meaning {
    /// Returns the meaning of a command of this class that has done nothing yet.
    pub(crate) const fn of(class: CommandClass) -> Self {
        Self {
            class,
            effects: Vec::new(),
            place: None,
            prints: Prints::Anything,
            printed: None,
            plain: None,
            starts: VersionControl::None,
            remotes: Vec::new(),
            databases: Vec::new(),
            unproved: false,
            only_ends: false,
        }
    }

    /// Returns the meaning of a command of which nothing is known.
    pub(crate) const fn unknown() -> Self {
        Self::of(CommandClass::Unknown)
    }

    /// Takes from the class what `class` does not have.
    pub(crate) fn lower(&mut self, class: CommandClass) {
        self.class = self.class.max(class);
    }

    /// Notes that links below the directories that are read lead to files that are read as well.
    pub(crate) fn follow(&mut self) {
        for effect in &mut self.effects {
            if let Effect::Reads(target) = effect
                && let Target::File(file) = target
            {
                *target = Target::Printed(std::mem::take(file));
            }
        }
    }

    /// Notes that the contents of everything below the directories that it reads come out.
    pub(crate) fn read_whole(&mut self) {
        let read = self.effects.iter().filter_map(|effect| match effect {
            Effect::Reads(Target::File(root) | Target::Printed(root)) => {
                Some(Target::File(root.clone()))
            }
            _ => None,
        });
        let whole: Vec<_> =
            read.map(|target| Effect::Searches(target, FileSearch::all_files())).collect();
        self.effects.extend(whole);
    }

    pub(crate) fn read(&mut self, arg: Arg<'_>, lists: bool) {
        if !lists && self.reaches_instead(arg) {
            return;
        }
        let effect = if lists { Effect::Lists } else { Effect::Reads };
        match arg {
            Arg::Known("-" | "/dev/stdin" | "/dev/null") => {}
            Arg::Known(file) => self.effects.push(effect(Target::File(file.to_owned()))),
            Arg::Paths(Paths::Pattern(pattern)) => {
                self.effects.push(effect(Target::Pattern(pattern.clone())));
            }
            Arg::Paths(Paths::Below { roots, search, .. }) => {
                // Whatever is found there: links among it lead to files that are read as well.
                let found = |root: &String| effect(Target::Printed(root.clone()));
                self.effects.extend(roots.iter().map(found));
                if let Some(search) = search.as_ref().filter(|_| !lists) {
                    let found = |root: &String| {
                        Effect::Searches(Target::File(root.clone()), FileSearch::clone(search))
                    };
                    self.effects.extend(roots.iter().map(found));
                }
            }
            Arg::Paths(Paths::Input { .. } | Paths::Tokens | Paths::Number)
            | Arg::Begins(_)
            | Arg::Many => {
                self.lower(CommandClass::Unknown);
            }
        }
    }

    pub(crate) fn write(&mut self, arg: Arg<'_>) {
        match arg {
            Arg::Known(file) if is_sink(file) => return,
            Arg::Known(file @ ("/dev/stdout" | "/dev/stderr")) => {
                return self.effects.push(Effect::WritesDescriptor(file.to_owned()));
            }
            Arg::Paths(Paths::Below { roots, .. }) if roots.is_empty() => return,
            Arg::Known(file) => self.effects.push(Effect::Writes(Target::File(file.to_owned()))),
            Arg::Paths(Paths::Pattern(pattern)) => {
                self.effects.push(Effect::Writes(Target::Pattern(pattern.clone())));
            }
            Arg::Paths(Paths::Below { roots, .. }) => {
                let target = |root: &String| Effect::Writes(Target::below(root));
                self.effects.extend(roots.iter().map(target));
            }
            Arg::Paths(Paths::Input { .. } | Paths::Tokens | Paths::Number)
            | Arg::Begins(_)
            | Arg::Many => {
                self.lower(CommandClass::Unknown);
                self.cannot_tell(UNKNOWN_FILE);
            }
        }
        self.lower(CommandClass::Edits);
    }

    pub(crate) fn reach(&mut self, arg: Arg<'_>) {
        self.lower(CommandClass::Unknown);
        let (Arg::Known(address) | Arg::Begins(address)) = arg else { return };
        if let Some((scheme, rest)) = address.split_once(':')
            && scheme.eq_ignore_ascii_case("file")
        {
            self.read_address(rest, matches!(arg, Arg::Known(_)));
        } else if let Arg::Known(address) = arg {
            self.effects.push(Effect::Reaches(address.to_owned()));
        }
    }

    /// Reaches the host of an operand with `scheme://` in it, which many programs fetch in the place of a file. A pattern that
    /// matches no file is such an operand, too.
    fn reaches_instead(&mut self, arg: Arg<'_>) -> bool {
        match arg {
            Arg::Known(text) => {
                let address = address_in(text);
                address.inspect(|address| self.reach(Arg::Known(address))).is_some()
            }
            Arg::Paths(Paths::Pattern(pattern)) if address_in(pattern).is_some() => {
                self.lower(CommandClass::Unknown);
                false
            }
            _ => false,
        }
    }

    /// Reads the file that an address names. An address with patterns or percent-encoding stands
    /// for an unknown file.
    fn read_address(&mut self, rest: &str, whole: bool) {
        let path = match rest.strip_prefix("//") {
            Some(rest) => rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/"),
            None => rest,
        };
        if !whole || path.contains(['%', '{', '[', '*']) {
            self.cannot_tell(UNKNOWN_FILE);
        }
        self.read(Arg::Known(path), false);
    }

    /// Has a shell run the script in `arg`.
    pub(crate) fn run_script(&mut self, arg: Arg<'_>) {
        match arg {
            Arg::Known(script) => self.effects.push(Effect::Script(script.to_owned())),
            _ => self.cannot_tell("runs a script that is not known"),
        }
    }

    /// Records an unknown effect and its reason.
    pub(crate) fn cannot_tell(&mut self, why: &'static str) {
        self.effects.push(Effect::Unknown(why));
    }

    pub(super) fn is_moved(&mut self, to: Option<Arg<'_>>) {
        match (to, self.place.take()) {
            (Some(Arg::Known(to)), Some(from)) if !to.starts_with('/') => {
                self.place = Some(format!("{from}/{to}"));
            }
            (Some(Arg::Known(to)), _) => self.place = Some(to.to_owned()),
            _ => {
                self.lower(CommandClass::Unknown);
                self.cannot_tell("works in a directory that is not known");
            }
        }
    }
}

/// Returns the address in a word: `https://x.io/a`, and that of `/vsicurl/https://x.io/a`.
fn address_in(text: &str) -> Option<&str> {
    let end = text.find("://")?;
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+.-".contains(&byte);
    let length = text.bytes().take(end).rev().take_while(|byte| is_scheme(*byte)).count();
    text.get(end - length..).filter(|_| length > 0)
}

/// Returns whether data written to this file is discarded.
fn is_sink(file: &str) -> bool {
    matches!(file, "/dev/null" | "/dev/tty" | "/dev/full")
}
