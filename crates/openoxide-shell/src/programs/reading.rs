//! Reading a command line by the rows of the table: options, subcommands, operands, and what follows from them.

use openoxide_protocol::CommandClass;

use super::{
    Arg, Arguments, Argv, Paths,
    items::{Item, items},
    level::{Check, Does, Level, Operand, Operands, OperandsRow, Opt, Takes},
    meaning::{Effect, Meaning, Prints, Target, UNKNOWN_FILE},
    readers,
};

/// Programs that start `PROGRAM-NAME` for an unknown subcommand, from the working directory if the name has a slash.
const STARTS_NAMED: [&str; 10] =
    ["kubectl", "oc", "kubecolor", "pyenv", "rbenv", "nodenv", "goenv", "plenv", "jenv", "perf"];
const NOT_UNDERSTOOD: &str = "its options were not understood";
const NOT_SHOWN: &str = "it can run something that its words do not show";

/// Returns the meaning of the words from the given one on.
pub(crate) fn read(level: &'static Level, arguments: Arguments<'_>, from: usize) -> Meaning {
    let mut meaning = match level.reader() {
        Some(reader) => reader(level, arguments, from),
        None => read_plainly(level, arguments, from),
    };
    meaning.starts = meaning.starts.max(level.traits.starts());
    meaning
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
    let mut path = Path { names: Vec::new(), from, end: from, adorned: false };
    reading.opaque(arguments, from);
    let mut items = items(level, arguments, from);
    while let Some(item) = items.next() {
        match item {
            Item::Option { option, value } => reading.option(option, value),
            Item::Number => reading.number(),
            Item::Unclear => reading.unclear(),
            Item::Operand(arg, at) => {
                if let Some(sub) = reading.sub(arg) {
                    path.enter(sub, arg, at);
                    if let Some(reader) = sub.reader() {
                        let mut inner = reader(sub, arguments, at + 1);
                        inner.starts = inner.starts.max(sub.traits.starts());
                        return path.of(arguments, reading.join(inner));
                    }
                    if sub.traits.anything {
                        let inner = Meaning::of(CommandClass::Harmless);
                        return path.of(arguments, reading.join(inner));
                    }
                    reading.enter(sub);
                    reading.opaque(arguments, at + 1);
                    items.enter(sub);
                } else if reading.runs(arg) {
                    reading.run(arguments.tail(at));
                    return path.of(arguments, reading.finish());
                } else {
                    reading.operands.push(arg);
                }
            }
        }
    }
    path.of(arguments, reading.finish())
}

/// The subcommands of a command line.
struct Path<'a> {
    names: Vec<&'a str>,
    from: usize,
    end: usize,
    adorned: bool,
}

impl<'a> Path<'a> {
    fn enter(&mut self, sub: &'static Level, arg: Arg<'a>, at: usize) {
        let Arg::Known(typed) = arg else { return };
        let name = if sub.traits.aliases { sub.name() } else { typed };
        self.adorned |= at != self.from + self.names.len() || typed != name;
        self.names.push(name);
        self.end = at + 1;
    }

    /// Adds the plain spelling to a meaning, if the command was spelled otherwise.
    fn of(&self, arguments: Arguments<'_>, mut meaning: Meaning) -> Meaning {
        if self.adorned {
            let mut words = arguments.words.clone();
            words.truncate(self.from);
            self.names.iter().for_each(|name| words.push(name));
            words.append(&arguments.words.tail(self.end));
            meaning.plain = Some(words);
        }
        meaning
    }
}

/// A command line while it is read.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct Reading<'a> {
    level: &'static Level,
    /// The effects so far. The class starts as harmless and is lowered.
    meaning: Meaning,
    /// The class of the program or subcommand.
    class: CommandClass,
    operands: Vec<Arg<'a>>,
    kinds: Operands,
    /// The directory that an option names for what the operands become.
    target: Option<Arg<'a>>,
    given: bool,
    here: bool,
    alone: Option<&'static str>,
    cuts: bool,
    ends: bool,
    names: bool,
    /// An option takes hidden, ignored or other files in as well.
    all: bool,
    /// Whether it compares files that git need not track.
    whole: bool,
    ran: bool,
    understood: bool,
    strict: bool,
    given_files: bool,
    asked: bool,
    /// The options, if they determine what is printed.
    options: Vec<(&'static str, Option<Arg<'a>>)>,
    /// Those of the levels above hold for their options behind a subcommand, too.
    checks: Vec<Check>,
}

impl<'a> Reading<'a> {
    fn new(level: &'static Level) -> Self {
        Self {
            level,
            meaning: Meaning::of(CommandClass::Harmless),
            class: level.class,
            operands: Vec::new(),
            kinds: level.operands.operands(),
            target: None,
            given: false,
            cuts: false,
            here: level.traits.here,
            alone: level.alone(),
            ends: false,
            names: false,
            all: false,
            whole: false,
            ran: false,
            understood: true,
            strict: false,
            given_files: false,
            asked: false,
            options: Vec::new(),
            checks: level.check().into_iter().collect(),
        }
    }

    /// Checks for words at any position that make the program run something else.
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
            // Words of which nothing is known can be options.
            Arg::Known(name) if self.operands.iter().all(|arg| is_doubtful(*arg)) => {
                self.level.sub(name)
            }
            _ => None,
        }
    }

    /// Goes on as a subcommand. What the options before it have lowered stays so.
    fn enter(&mut self, sub: &'static Level) {
        self.operands.clear();
        self.level = sub;
        self.class = sub.class;
        self.meaning.starts = self.meaning.starts.max(sub.traits.starts());
        self.kinds = sub.operands.operands();
        self.checks.extend(sub.check());
        self.here = sub.traits.here;
        self.alone = sub.alone();
    }

    /// Adds the effects of the words before a subcommand that has its own reader.
    fn join(self, mut inner: Meaning) -> Meaning {
        inner.lower(self.meaning.class);
        inner.effects.splice(0..0, self.meaning.effects);
        inner.place = inner.place.or(self.meaning.place);
        inner.starts = inner.starts.max(self.meaning.starts);
        inner.remotes.splice(0..0, self.meaning.remotes);
        inner
    }

    fn option(&mut self, option: Opt, value: Option<Arg<'a>>) {
        let level = self.level;
        self.given |= level.given.has(option.name);
        self.here |= level.here_with.has(option.name);
        self.all |= readers::takes_all(option.name);
        self.whole |= option.name == "no-index" && level.name() == "diff";
        self.cuts |= level.cuts.has(option.name);
        for when in level.whens().iter().filter(|when| when.with.has(option.name)) {
            self.class = when.class.unwrap_or(self.class);
            self.kinds = when.operands.map_or(self.kinds, OperandsRow::operands);
            self.alone = self.alone.filter(|_| when.operands.is_none());
            self.strict |= when.strict;
            self.names |= when.prints_paths;
        }
        if self.checks.iter().any(|check| !check(option.name, value)) {
            self.meaning.lower(CommandClass::Unknown);
            self.asked = true;
        }
        if option.takes == Takes::Rest {
            // What follows belongs to what it starts.
            self.kinds = Operands { first: &[], repeated: Some(Operand::Asks), last: &[] };
        }
        if level.tokens.is_some() {
            self.options.push((option.name, value));
        }
        if let Some(values) = level.values() {
            values(&mut self.meaning, option.name, value);
        }
        self.does(option.does, value);
    }

    fn does(&mut self, does: Does, value: Option<Arg<'a>>) {
        self.asked |= does >= Does::Asks;
        self.given_files |= does == Does::Reads;
        match (does, value) {
            (Does::Nothing, _) => {}
            // After an unknown subcommand, that subcommand determines the meaning. For some
            // programs, a repeated option is a different option, as is a cluster.
            (Does::Ends, _) if self.ends => self.unclear(),
            (Does::Ends, _) => {
                self.ends |= self.level.subs().is_empty() || self.operands.is_empty();
            }
            (Does::Reads, Some(value)) => self.meaning.read(value, self.level.traits.lists),
            (Does::Writes, Some(value)) => self.write(value),
            (Does::Into, Some(value)) => self.target = Some(value),
            (Does::Moves, value) => self.meaning.is_moved(value),
            (Does::Reaches, Some(value)) => self.meaning.reach(value),
            (Does::Mounts, Some(value)) => readers::mount(&mut self.meaning, value),
            (Does::ReadsMore, Some(value)) => {
                self.meaning.read(value, false);
                self.meaning.lower(CommandClass::Unknown);
                self.meaning.cannot_tell(NOT_SHOWN);
            }
            (Does::Runs, Some(value)) => {
                self.meaning.lower(CommandClass::Unknown);
                self.meaning.run_script(value);
            }
            (Does::Runs | Does::Loads | Does::ReadsMore, _) => {
                self.meaning.lower(CommandClass::Unknown);
                self.meaning.cannot_tell(NOT_SHOWN);
            }
            (
                Does::Asks | Does::Reads | Does::Writes | Does::Into | Does::Reaches | Does::Mounts,
                _,
            ) => {
                self.meaning.lower(CommandClass::Unknown);
            }
        }
    }

    fn write(&mut self, arg: Arg<'a>) {
        if !(self.level.traits.stdout && arg == Arg::Known("-")) {
            self.meaning.write(arg);
        }
    }

    fn number(&mut self) {
        self.cuts |= self.level.cuts.has("numbers");
    }

    fn unclear(&mut self) {
        self.understood = false;
        self.meaning.lower(CommandClass::Unknown);
        // A word that is not understood can shift the words after it.
        let later = self.kinds.first.iter().skip(self.operands.len());
        if later.chain(&self.kinds.repeated).any(|kind| kind.starts_command()) {
            self.meaning.cannot_tell(NOT_UNDERSTOOD);
        }
    }

    fn kind_of_next(&self) -> Option<Operand> {
        self.kinds.first.get(self.operands.len()).copied().or(self.kinds.repeated)
    }

    /// Returns whether a command or script begins with this operand.
    fn runs(&mut self, arg: Arg<'a>) -> bool {
        let assigns = self.level.traits.assignments
            && matches!(arg, Arg::Known(text) | Arg::Begins(text) if text.contains('='));
        self.kind_of_next().is_some_and(Operand::starts_command) && !assigns
    }

    fn run(&mut self, command: Argv) {
        self.ran = true;
        // `flock FILE -c SCRIPT`; behind every other wrapper it would be a program of that name.
        let scripted = matches!(command.words.known_word(0), Some("-c" | "--command"));
        if scripted && self.level.name() == "flock" {
            let script = command.words.known_word(1).map_or(Arg::Many, Arg::Known);
            self.meaning.run_script(script);
        } else if self.kind_of_next() == Some(Operand::Script) {
            match readers::joined(&command.words) {
                Some(script) => self.meaning.effects.push(Effect::Script(script)),
                None => self.meaning.cannot_tell("runs a script that is not known"),
            }
        } else if matches!(self.kind_of_next(), Some(Operand::Tool | Operand::Guest)) {
            let guest = self.kind_of_next() == Some(Operand::Guest);
            readers::add_tool(&mut self.meaning, command, guest);
        } else if self.kind_of_next() == Some(Operand::Plugin) {
            readers::add_plugin(&mut self.meaning, self.level.name(), &command);
        } else {
            self.meaning.effects.push(Effect::Runs(command));
        }
    }

    fn finish(mut self) -> Meaning {
        self.meaning.lower(self.class);
        // Only help or a version is printed if everything else was understood and there is no
        // operand. Many programs read no options after the first operand, or do their work in
        // addition.
        if self.ends
            && self.understood
            && self.operands.is_empty()
            && !self.asked
            && self.meaning.effects.is_empty()
        {
            let starts = self.meaning.starts;
            return Meaning { starts, only_ends: true, ..Meaning::of(CommandClass::Harmless) };
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
        self.meaning.lower(self.class);
        if !self.ran && kinds.run() {
            self.meaning.lower(CommandClass::Unknown); // What runs nothing shows something, or waits for input.
        }
        if let Some(target) = self.target {
            self.put_into(target, &operands);
        }
        let texts = kinds.first.iter().take_while(|kind| **kind == Operand::Text).count();
        if operands.len() <= texts && self.here {
            self.meaning.read(Arg::Known("."), traits.lists);
        }
        let carries = kinds.first.iter().chain(&kinds.repeated).any(|kind| kind.starts_command());
        if let (true, false, Some(why)) = (operands.is_empty() || carries, self.ran, self.alone) {
            self.meaning.lower(CommandClass::Unknown);
            self.meaning.cannot_tell(why);
        }
        if !self.level.subs().is_empty() && !operands.is_empty() && !traits.mixed {
            self.meaning.lower(CommandClass::Unknown);
            let path = matches!(operands.first(), Some(Arg::Known(name)) if name.contains('/'));
            if path && STARTS_NAMED.contains(&self.level.name()) {
                self.meaning.cannot_tell(readers::PATH_AS_SUBCOMMAND);
            }
        }
        // Options that are not harmless could put something else before the names.
        let names =
            self.meaning.class == CommandClass::Harmless && (traits.prints_paths || self.names);
        if names && self.names {
            self.meaning.read(Arg::Known("."), true);
        }
        if names {
            self.meaning.printed = readers::printed(self.level.name(), self.all);
        }
        if self.whole {
            self.meaning.read_whole();
        }
        let harmless = self.meaning.class == CommandClass::Harmless;
        self.meaning.prints = match traits {
            _ if names => Prints::Paths { bare: true },
            _ if harmless && self.level.tokens().is_some_and(|f| f(&self.options, &operands)) => {
                Prints::Tokens
            }
            _ if traits.passes
                && !self.cuts
                && self.understood
                && self.meaning.effects.is_empty() =>
            {
                Prints::Input
            }
            _ => Prints::Anything,
        };
        self.meaning
    }

    /// Gives each operand its kind.
    fn all(&mut self, operands: &[Arg<'a>], kinds: Operands) {
        let fixed = if kinds.repeated.is_some() { kinds.first.len() } else { operands.len() };
        if operands.iter().take(fixed).any(|arg| is_doubtful(*arg)) {
            // Several words where one is expected move the others.
            self.meaning.lower(CommandClass::Unknown);
            let mut fixed = kinds.first.iter().chain(kinds.last);
            if fixed.any(|kind| matches!(kind, Operand::Writes | Operand::Changes | Operand::Into))
            {
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
            _ => except.iter().next().is_none(),
        };
        if !plain {
            self.meaning.lower(CommandClass::Unknown);
        }
        match kind {
            Some(Operand::Text) => {}
            Some(Operand::Reads) => self.meaning.read(arg, self.level.traits.lists),
            Some(Operand::Revision) => {
                readers::revision(&mut self.meaning, arg, self.level.traits.lists);
            }
            Some(Operand::Pathspec) => {
                readers::pathspec(&mut self.meaning, arg, self.level.traits.lists);
            }
            Some(Operand::Peg) => readers::peg(&mut self.meaning, arg),
            Some(Operand::Package) if matches!(arg, Arg::Known(text) if is_package(text)) => {}
            Some(Operand::Remote) => readers::remote(&mut self.meaning, arg),
            Some(Operand::Writes) => self.write(arg),
            Some(Operand::Changes) => {
                self.meaning.read(arg, self.level.traits.lists);
                self.meaning.write(arg);
            }
            Some(Operand::Into) => self.put_last(arg, all),
            Some(Operand::Reaches) => self.meaning.reach(arg),
            Some(Operand::Loads) => {
                self.meaning.lower(CommandClass::Unknown);
                self.meaning.cannot_tell(NOT_SHOWN);
            }
            None
            | Some(
                Operand::Asks
                | Operand::Package
                | Operand::Runs
                | Operand::Script
                | Operand::Tool
                | Operand::Plugin
                | Operand::Guest,
            ) => {
                self.meaning.lower(CommandClass::Unknown);
            }
        }
    }

    /// The last operand is a place for those before it. Alone it is a file that gets its name in this directory.
    fn put_last(&mut self, place: Arg<'a>, all: &[Arg<'a>]) {
        match all.split_last() {
            Some((_, sources)) if !sources.is_empty() => self.put_into(place, sources),
            _ => {
                self.meaning.read(place, self.level.traits.lists);
                self.put_into(Arg::Known("."), all);
            }
        }
    }

    /// Writes to a place: it becomes the file, or contains it under its name.
    fn put_into(&mut self, place: Arg<'a>, sources: &[Arg<'a>]) {
        self.meaning.write(place);
        let Arg::Known(place) = place else { return };
        for source in sources {
            match source {
                Arg::Known(source) => self.put_under_name(place, source),
                // Names that begin with a dot could be those of settings that are not there yet.
                Arg::Paths(Paths::Pattern(pattern)) if !last_part(pattern).starts_with('.') => {
                    let name = last_part(pattern);
                    let target = format!("{}/{name}", place.trim_end_matches('/'));
                    self.meaning.effects.push(Effect::Writes(Target::Pattern(target)));
                }
                Arg::Paths(Paths::Below { roots, .. }) if roots.is_empty() => {}
                Arg::Begins(_) | Arg::Paths(_) | Arg::Many => {
                    self.meaning.lower(CommandClass::Unknown);
                    self.meaning.cannot_tell(UNKNOWN_FILE);
                }
            }
        }
    }

    fn put_under_name(&mut self, place: &str, source: &str) {
        let name = last_part(source.trim_end_matches('/'));
        if !matches!(name, "" | "." | "..") {
            self.meaning.write(Arg::Known(&format!("{}/{name}", place.trim_end_matches('/'))));
        }
    }
}

/// Returns whether a word names a package of the registry: `react`, `@types/node@22`. A path is a directory, `user/repo` and
/// whatever has a colon is a place of git, and an archive is a file.
fn is_package(text: &str) -> bool {
    let (scope, name) = match text.strip_prefix('@') {
        Some(rest) => rest.split_once('/').map_or(("", ""), |(scope, name)| (scope, name)),
        None => ("x", text),
    };
    let plain = |part: &str| {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@^~*+<>=| ".contains(&byte);
        part.starts_with(|first: char| first.is_ascii_alphanumeric()) && part.bytes().all(is_name)
    };
    let archive =
        [".tgz", ".tar", ".gz"].iter().any(|end| text.to_ascii_lowercase().ends_with(end));
    plain(scope) && plain(name) && !archive
}

fn is_doubtful(arg: Arg<'_>) -> bool {
    match arg {
        // A pipe is one word, and no file.
        Arg::Paths(Paths::Below { roots, .. }) => !roots.is_empty(),
        arg => matches!(arg, Arg::Begins("") | Arg::Many | Arg::Paths(_)),
    }
}

fn last_part(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
