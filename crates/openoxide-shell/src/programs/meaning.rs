//! What a command does, as far as its words show it.

use openoxide_protocol::CommandClass;

use super::{
    Arg, Argv, Arguments, Paths,
    items::{Item, items},
    level::{Check, Does, Level, Operand, Operands, Opt},
    readers,
};

const NOT_UNDERSTOOD: &str = "its options were not understood";
const NOT_SHOWN: &str = "it can run something that its words do not show";
const UNKNOWN_FILE: &str = "it changes a file that is not known";

/// What a command does, as far as its words show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// What is known of it as a whole.
    pub(crate) class: CommandClass,
    /// What it does, in order.
    pub(crate) effects: Vec<Effect>,
    /// The directory in which it works, if that is another; relative names begin there.
    pub(crate) place: Option<String>,
    /// What it prints.
    pub(crate) prints: Prints,
}

/// One thing that a command does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It reads this file, or everything below this directory.
    Reads(Target),
    /// It looks at names, sizes and the like.
    Lists(Target),
    /// It makes, changes or removes this.
    Writes(Target),
    /// It reaches this host or address.
    Reaches(String),
    /// It runs this command.
    Runs(Argv),
    /// It has a shell run this script.
    Script(String),
    /// It does something that cannot be told, and why.
    Unknown(&'static str),
}

/// What is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    File(String),
    /// The files that match this pattern.
    Pattern(String),
}

/// What a command prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Prints {
    #[default]
    Anything,
    /// Names of files below those that it looks at, one a line: `bare` ones, or such that begin with what it was given.
    Paths { bare: bool },
    /// Lines that it has read.
    Input,
}

impl Meaning {
    /// Returns the meaning of a command of this class that has done nothing yet.
    pub(crate) const fn of(class: CommandClass) -> Self {
        Self { class, effects: Vec::new(), place: None, prints: Prints::Anything }
    }

    /// Returns the meaning of a command of which nothing is known.
    pub(crate) const fn unknown() -> Self {
        Self::of(CommandClass::Unknown)
    }

    /// Takes from the class what `class` does not have.
    pub(crate) fn lower(&mut self, class: CommandClass) {
        self.class = self.class.max(class);
    }

    pub(crate) fn read(&mut self, arg: Arg<'_>, lists: bool) {
        let effect = if lists { Effect::Lists } else { Effect::Reads };
        match arg {
            Arg::Known("-" | "/dev/stdin" | "/dev/null") => {}
            Arg::Known(file) => self.effects.push(effect(Target::File(file.to_owned()))),
            Arg::Paths(Paths::Pattern(pattern)) => {
                self.effects.push(effect(Target::Pattern(pattern.clone())));
            }
            Arg::Paths(Paths::Below { roots, .. }) => {
                self.effects.extend(roots.iter().map(|root| effect(Target::File(root.clone()))));
            }
            Arg::Paths(Paths::Input) | Arg::Begins(_) | Arg::Many => {
                self.lower(CommandClass::Unknown);
            }
        }
    }

    pub(crate) fn write(&mut self, arg: Arg<'_>) {
        match arg {
            Arg::Known(file) if is_sink(file) => return,
            Arg::Known(file) => self.effects.push(Effect::Writes(Target::File(file.to_owned()))),
            Arg::Paths(Paths::Pattern(pattern)) => {
                self.effects.push(Effect::Writes(Target::Pattern(pattern.clone())));
            }
            Arg::Paths(Paths::Below { .. } | Paths::Input) | Arg::Begins(_) | Arg::Many => {
                self.lower(CommandClass::Unknown);
                self.cannot_tell(UNKNOWN_FILE);
            }
        }
        self.lower(CommandClass::Edits);
    }

    pub(crate) fn reach(&mut self, arg: Arg<'_>) {
        self.lower(CommandClass::Unknown);
        if let Arg::Known(address) = arg {
            self.effects.push(Effect::Reaches(address.to_owned()));
        }
    }

    /// Has a shell run what `arg` says.
    pub(crate) fn run_script(&mut self, arg: Arg<'_>) {
        match arg {
            Arg::Known(script) => self.effects.push(Effect::Script(script.to_owned())),
            _ => self.cannot_tell("runs a script that is not known"),
        }
    }

    /// Notes that it does something that cannot be told.
    pub(crate) fn cannot_tell(&mut self, why: &'static str) {
        self.effects.push(Effect::Unknown(why));
    }

    fn is_moved(&mut self, to: Option<Arg<'_>>) {
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

/// Says whether what is written there is kept nowhere.
fn is_sink(file: &str) -> bool {
    matches!(file, "-" | "/dev/null" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/full")
}

/// Returns the meaning of the words from the given one on.
pub(crate) fn read(level: &'static Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    match level.reader {
        Some(reader) => reader(level, arguments, from),
        None => read_plainly(level, arguments, from),
    }
}

/// As [`read`], without a reader of the program's own.
pub(crate) fn read_plainly(
    level: &'static Level,
    arguments: Arguments<'_>,
    from: usize,
) -> Meaning {
    if level.traits.anything {
        return Meaning::of(CommandClass::Harmless);
    }
    let mut reading = Reading::new(level);
    reading.opaque(arguments, from);
    let mut items = items(level, arguments, from);
    while let Some(item) = items.next() {
        match item {
            Item::Option { option, value } => reading.option(option, value),
            Item::Number => {}
            Item::Unclear => reading.unclear(),
            Item::Operand(arg, at) => {
                if let Some(sub) = reading.sub(arg) {
                    if let Some(reader) = sub.reader {
                        return reading.join(reader(sub, arguments, at + 1));
                    }
                    reading.enter(sub);
                    reading.opaque(arguments, at + 1);
                    items.enter(sub);
                } else if reading.runs(arg) {
                    reading.run(arguments.tail(at));
                    return reading.finish();
                } else {
                    reading.operands.push(arg);
                }
            }
        }
    }
    reading.finish()
}

/// A command line while it is read.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Reading<'a> {
    level: &'static Level,
    meaning: Meaning,
    operands: Vec<Arg<'a>>,
    kinds: Operands,
    given: bool,
    here: bool,
    ends: bool,
    ran: bool,
    understood: bool,
    strict: bool,
    given_files: bool,
    asked: bool,
    /// Those of the levels above hold for their options behind a subcommand, too.
    checks: Vec<Check>,
}

impl<'a> Reading<'a> {
    fn new(level: &'static Level) -> Self {
        Self {
            level,
            meaning: Meaning::of(level.class),
            operands: Vec::new(),
            kinds: level.operands,
            given: false,
            here: level.traits.here,
            ends: false,
            ran: false,
            understood: true,
            strict: false,
            given_files: false,
            asked: false,
            checks: level.check.into_iter().collect(),
        }
    }

    /// Looks for words that make it run something else, wherever they stand.
    fn opaque(&mut self, arguments: Arguments<'_>, from: usize) {
        let hides = |text: &str| {
            self.level.opaque.iter().any(|start| match start.strip_prefix('*') {
                Some(held) => text.contains(held),
                None => text.starts_with(start),
            })
        };
        let mut words = arguments.iter(from);
        if words.any(|arg| matches!(arg, Arg::Known(text) | Arg::Begins(text) if hides(text))) {
            self.asked = true;
            self.meaning.lower(CommandClass::Unknown);
            self.meaning.cannot_tell(NOT_SHOWN);
        }
    }

    fn sub(&self, arg: Arg<'_>) -> Option<&'static Level> {
        match arg {
            Arg::Known(name) if self.operands.is_empty() => self.level.sub(name),
            _ => None,
        }
    }

    /// Goes on as a subcommand. What the options before it have lowered stays so.
    fn enter(&mut self, sub: &'static Level) {
        let (lowered, was) = (self.is_lowered(), self.meaning.class);
        self.level = sub;
        self.meaning.class = if lowered { sub.class.max(was) } else { sub.class };
        self.kinds = sub.operands;
        self.checks.extend(sub.check);
        self.here = sub.traits.here;
    }

    /// Says whether its options did something, so that another class is none of theirs.
    fn is_lowered(&self) -> bool {
        self.asked || !self.understood || self.meaning.class > self.level.class
    }

    /// Adds what comes before a subcommand with a reader of its own.
    fn join(self, mut inner: Meaning) -> Meaning {
        if self.is_lowered() {
            inner.lower(self.meaning.class);
        }
        inner.effects.splice(0..0, self.meaning.effects);
        inner.place = inner.place.or(self.meaning.place);
        inner
    }

    fn option(&mut self, option: &'static Opt, value: Option<Arg<'a>>) {
        let level = self.level;
        self.given |= level.given.contains(&option.name);
        self.here |= level.here_with.contains(&option.name);
        for when in level.whens.iter().filter(|when| when.with.contains(&option.name)) {
            if let Some(class) = when.class {
                let stays = self.asked || !self.understood;
                self.meaning.class = class.max(if stays { self.meaning.class } else { class });
            }
            self.kinds = when.operands.unwrap_or(self.kinds);
            self.strict |= when.strict;
        }
        if self.checks.iter().any(|check| !check(option.name, value)) {
            self.meaning.lower(CommandClass::Unknown);
            self.asked = true;
        }
        self.does(option.does, value);
    }

    fn does(&mut self, does: Does, value: Option<Arg<'a>>) {
        self.asked |= does >= Does::Asks;
        self.given_files |= does == Does::Reads;
        match (does, value) {
            (Does::Nothing, _) => {}
            // Behind a subcommand that is not known it is for that one to say.
            (Does::Ends, _) => self.ends |= self.level.subs.is_empty() || self.operands.is_empty(),
            (Does::Reads, Some(value)) => self.meaning.read(value, self.level.traits.lists),
            (Does::Writes, Some(value)) => self.meaning.write(value),
            (Does::Moves, value) => self.meaning.is_moved(value),
            (Does::Reaches, Some(value)) => self.meaning.reach(value),
            (Does::Mounts, Some(value)) => readers::mount(&mut self.meaning, value),
            (Does::Runs, Some(value)) => {
                self.meaning.lower(CommandClass::Unknown);
                self.meaning.run_script(value);
            }
            (Does::Runs | Does::Loads, _) => {
                self.meaning.lower(CommandClass::Unknown);
                self.meaning.cannot_tell(NOT_SHOWN);
            }
            (Does::Asks | Does::Reads | Does::Writes | Does::Reaches | Does::Mounts, _) => {
                self.meaning.lower(CommandClass::Unknown);
            }
        }
    }

    fn unclear(&mut self) {
        self.understood = false;
        self.meaning.lower(CommandClass::Unknown);
        if self.kind_of_next().is_some_and(|kind| matches!(kind, Operand::Runs | Operand::Script)) {
            self.meaning.cannot_tell(NOT_UNDERSTOOD);
        }
    }

    fn kind_of_next(&self) -> Option<Operand> {
        self.kinds.first.get(self.operands.len()).copied().or(self.kinds.repeated)
    }

    /// Says whether a command or script begins with this operand.
    fn runs(&mut self, arg: Arg<'a>) -> bool {
        let runs = |kind| matches!(kind, Operand::Runs | Operand::Script);
        let assigns = self.level.traits.assignments
            && matches!(arg, Arg::Known(text) | Arg::Begins(text) if text.contains('='));
        self.kind_of_next().is_some_and(runs) && !assigns
    }

    fn run(&mut self, command: Argv) {
        self.ran = true;
        if matches!(command.words.known(0), Some("-c" | "--command")) {
            // `flock FILE -c SCRIPT`
            let script = command.words.known(1).map_or(Arg::Many, Arg::Known);
            self.meaning.run_script(script);
        } else if self.kind_of_next() == Some(Operand::Script) {
            match readers::joined(&command.words) {
                Some(script) => self.meaning.effects.push(Effect::Script(script)),
                None => self.meaning.cannot_tell("runs a script that is not known"),
            }
        } else if self.meaning.place.is_some() {
            self.meaning.effects.push(Effect::Runs(readers::moved(&command.words).into()));
        } else {
            self.meaning.effects.push(Effect::Runs(command));
        }
    }

    fn finish(mut self) -> Meaning {
        // A help or version is all there is, if everything else was understood.
        if self.ends && self.understood && !self.asked && self.meaning.effects.is_empty() {
            return Meaning::of(CommandClass::Harmless);
        }
        if self.strict && (self.asked || self.given_files) {
            self.meaning.lower(CommandClass::Unknown);
            self.meaning.cannot_tell(NOT_SHOWN);
        }
        let traits = self.level.traits;
        let operands = std::mem::take(&mut self.operands);
        let mut kinds = self.kinds;
        if self.given {
            kinds.first = kinds.first.get(1..).unwrap_or_default();
        }
        self.all(&operands, kinds);
        if operands.is_empty() && self.here {
            self.meaning.read(Arg::Known("."), traits.lists);
        }
        if let (true, false, Some(why)) = (operands.is_empty(), self.ran, self.level.alone) {
            self.meaning.lower(CommandClass::Unknown);
            self.meaning.cannot_tell(why);
        }
        if !self.level.subs.is_empty() && operands.first().is_some() {
            self.meaning.lower(CommandClass::Unknown);
        }
        self.meaning.prints = match traits {
            _ if traits.prints_paths => Prints::Paths { bare: true },
            _ if traits.passes => Prints::Input,
            _ => Prints::Anything,
        };
        self.meaning
    }

    /// Gives each operand its kind.
    fn all(&mut self, operands: &[Arg<'a>], kinds: Operands) {
        let fixed = if kinds.repeated.is_some() { kinds.first.len() } else { operands.len() };
        let several = |arg: &Arg<'_>| matches!(arg, Arg::Many | Arg::Paths(_));
        if operands.iter().take(fixed).any(several) {
            // Several words where one is expected move the others.
            self.meaning.lower(CommandClass::Unknown);
            if kinds.first.iter().chain(kinds.last).any(|kind| *kind == Operand::Writes) {
                self.meaning.cannot_tell(UNKNOWN_FILE);
            }
        }
        let last_from = operands.len().saturating_sub(kinds.last.len());
        for (index, arg) in operands.iter().enumerate() {
            let kind = match kinds.first.get(index) {
                Some(kind) => Some(*kind),
                None if index >= last_from => kinds.last.get(index - last_from).copied(),
                None => kinds.repeated,
            };
            self.operand(*arg, kind, operands);
        }
    }

    fn operand(&mut self, arg: Arg<'a>, kind: Option<Operand>, all: &[Arg<'a>]) {
        let except = self.level.except;
        let plain = match arg {
            Arg::Known(text) => !except.iter().any(|held| text.to_ascii_lowercase().contains(held)),
            _ => except.is_empty(),
        };
        if !plain {
            self.meaning.lower(CommandClass::Unknown);
        }
        match kind {
            Some(Operand::Text) => {}
            Some(Operand::Reads) => self.meaning.read(arg, self.level.traits.lists),
            Some(Operand::Revision) => readers::revision(&mut self.meaning, arg),
            Some(Operand::Writes) => self.meaning.write(arg),
            Some(Operand::Into) => self.into(arg, all),
            Some(Operand::Reaches) => self.meaning.reach(arg),
            Some(Operand::Loads) => {
                self.meaning.lower(CommandClass::Unknown);
                self.meaning.cannot_tell(NOT_SHOWN);
            }
            None | Some(Operand::Asks | Operand::Runs | Operand::Script) => {
                self.meaning.lower(CommandClass::Unknown);
            }
        }
    }

    /// Writes to a place: it becomes the file, or holds it under its name.
    fn into(&mut self, place: Arg<'a>, all: &[Arg<'a>]) {
        self.meaning.write(place);
        let Arg::Known(place) = place else { return };
        for source in all.iter().take(all.len().saturating_sub(1)) {
            let (Arg::Known(source) | Arg::Begins(source)) = source else { continue };
            let name = source.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            if !matches!(name, "" | "." | "..") {
                self.meaning.write(Arg::Known(&format!("{}/{name}", place.trim_end_matches('/'))));
            }
        }
    }
}
