//! The generic reader. It reads a command line with the rows of the table: options, subcommands,
//! operands, and their effects.

use openoxide_protocol::CommandClass;

use super::{
    ArgumentWord, Argv, ArgvRef, WordSource,
    command_arguments::CommandArguments,
    command_items::CommandItem,
    command_meaning::{CommandEffect, CommandMeaning, EffectTarget, OutputKind, UNKNOWN_FILE},
    command_spec::{
        CommandSpec, OperandKind, OperandSpec, OperandSpecRow, OptionEffect, OptionSpec,
        OptionValueKind,
    },
    reader_functions::OptionCheck,
    readers::{
        PATH_AS_SUBCOMMAND, add_mount, add_pathspec, add_peg_revision, add_plugin, add_remote,
        add_revision, add_tool, find_printed_files, includes_hidden_files, join_words,
    },
};

/// Programs that start `PROGRAM-NAME` for an unknown subcommand. If the name contains a slash, the
/// program is in the working directory.
const STARTS_NAMED: [&str; 10] =
    ["kubectl", "oc", "kubecolor", "pyenv", "rbenv", "nodenv", "goenv", "plenv", "jenv", "perf"];
const OPTIONS_NOT_UNDERSTOOD: &str = "its options were not understood";
/// Options of programs that otherwise only list files. The value is a file whose lines they print.
const CONTENT_OPTIONS: [&str; 6] =
    ["config-file", "ignore-file", "gitfile", "infofile", "hintro", "houtro"];
const HIDDEN_EXECUTION: &str = "it can run something that its words do not show";

/// Returns the meaning of the arguments of a program or subcommand.
pub(crate) fn read_arguments(arguments: CommandArguments<'_>) -> CommandMeaning {
    let mut meaning = match arguments.spec.custom_reader() {
        Some(reader) => reader(arguments),
        None => read_without_custom_reader(arguments),
    };
    if arguments.spec.custom_reader().is_some() {
        meaning.search_directories(arguments.spec.searches);
    }
    let starts = arguments.spec.traits.version_control();
    meaning.version_control = meaning.version_control.max(starts);
    meaning
}

/// Returns the same as [`read_arguments`], but without the reader of the program.
pub(crate) fn read_without_custom_reader(arguments: CommandArguments<'_>) -> CommandMeaning {
    let CommandArguments { spec, argv, start } = arguments;
    if spec.traits.anything {
        return CommandMeaning::new(CommandClass::Harmless);
    }
    let mut reading = CommandReading::new(spec);
    let mut path = SubcommandPath { names: Vec::new(), start, end: start, is_rewritten: false };
    reading.check_opaque_words(arguments);
    let mut items = arguments.items();
    while let Some(item) = items.next() {
        match item {
            CommandItem::Option { option, value } => reading.add_option(option, value),
            CommandItem::Number => reading.note_numeric_option(),
            CommandItem::Unclear => reading.mark_unclear(),
            CommandItem::Operand(arg, at) => {
                if let Some(sub) = reading.find_subcommand(arg) {
                    path.push_subcommand(sub, arg, at);
                    if let Some(reader) = sub.custom_reader() {
                        let mut inner = reader(CommandArguments::new(sub, argv, at + 1));
                        inner.search_directories(sub.searches);
                        inner.version_control =
                            inner.version_control.max(sub.traits.version_control());
                        return path.with_canonical_words(argv, reading.prepend_to(inner));
                    }
                    if sub.traits.anything {
                        let inner = CommandMeaning::new(CommandClass::Harmless);
                        return path.with_canonical_words(argv, reading.prepend_to(inner));
                    }
                    reading.enter_subcommand(sub);
                    reading.check_opaque_words(CommandArguments::new(sub, argv, at + 1));
                    items.enter_subcommand(sub);
                } else if reading.is_command_start(arg) {
                    reading.add_command(argv.tail_from(at));
                    return path.with_canonical_words(argv, reading.into_meaning());
                } else {
                    reading.operands.push(arg);
                }
            }
        }
    }
    path.with_canonical_words(argv, reading.into_meaning())
}

/// The subcommands of a command line.
struct SubcommandPath<'a> {
    names: Vec<&'a str>,
    start: usize,
    end: usize,
    is_rewritten: bool,
}

impl<'a> SubcommandPath<'a> {
    fn push_subcommand(&mut self, sub: &'static CommandSpec, arg: ArgumentWord<'a>, at: usize) {
        let ArgumentWord::Known(typed) = arg else { return };
        let name = if sub.traits.aliases { sub.name() } else { typed };
        self.is_rewritten |= at != self.start + self.names.len() || typed != name;
        self.names.push(name);
        self.end = at + 1;
    }

    /// Adds the canonical words to a meaning, if the command was written differently.
    fn with_canonical_words(
        &self,
        argv: ArgvRef<'_>,
        mut meaning: CommandMeaning,
    ) -> CommandMeaning {
        if self.is_rewritten {
            let mut words = argv.words.clone();
            words.truncate(self.start);
            self.names.iter().for_each(|name| words.push(name));
            words.append(&argv.words.tail(self.end));
            meaning.canonical_words = Some(words);
        }
        meaning
    }
}

/// Options that only change what is printed, also beside `--help` and `--version`.
const OUTPUT_OPTIONS: [&str; 9] =
    ["n", "no-ansi", "no-color", "no-interaction", "q", "quiet", "silent", "v", "verbose"];

/// The state of reading a command line.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct CommandReading<'a> {
    level: &'static CommandSpec,
    /// The effects so far. The class starts as harmless and is lowered.
    meaning: CommandMeaning,
    /// The class of the program or subcommand.
    class: CommandClass,
    operands: Vec<ArgumentWord<'a>>,
    kinds: OperandSpec,
    /// The directory for the output, if an option names one.
    target: Option<ArgumentWord<'a>>,
    given: bool,
    here: bool,
    alone: Option<&'static str>,
    cuts: bool,
    prints_help: bool,
    /// Whether there is an option that may do more than print help or a version.
    has_other_options: bool,
    prints_names: bool,
    /// Whether an option includes hidden, ignored or other files.
    includes_hidden_files: bool,
    /// Whether the command compares files that git may not track.
    compares_outside_files: bool,
    has_inner_command: bool,
    is_understood: bool,
    strict: bool,
    given_files: bool,
    needs_approval: bool,
    /// The options, if they determine the kind of output.
    options: Vec<(&'static str, Option<ArgumentWord<'a>>)>,
    /// The checks of all levels. Those of the outer levels also apply to options after a
    /// subcommand.
    checks: Vec<OptionCheck>,
}

impl<'a> CommandReading<'a> {
    fn new(level: &'static CommandSpec) -> Self {
        Self {
            level,
            meaning: CommandMeaning::new(CommandClass::Harmless),
            class: level.class,
            operands: Vec::new(),
            kinds: level.operands.to_operand_spec(),
            target: None,
            given: false,
            cuts: false,
            here: level.traits.here,
            alone: level.missing_operands_reason(),
            prints_help: false,
            has_other_options: false,
            prints_names: false,
            includes_hidden_files: false,
            compares_outside_files: false,
            has_inner_command: false,
            is_understood: true,
            strict: false,
            given_files: false,
            needs_approval: false,
            options: Vec::new(),
            checks: level.option_check().into_iter().collect(),
        }
    }

    /// Adds an unknown effect if any word can make the program run something else.
    fn check_opaque_words(&mut self, arguments: CommandArguments<'_>) {
        let hides = |text: &str| {
            self.level.opaque.iter().any(|start| match start.strip_prefix('*') {
                Some(held) => text.contains(held),
                None => text.starts_with(start),
            })
        };
        let mut words = arguments.words();
        if words.any(|arg| matches!(arg, ArgumentWord::Known(text) | ArgumentWord::Prefix(text) if hides(text))) {
            self.needs_approval = true;
            self.meaning.lower_class(CommandClass::Unknown);
            self.meaning.add_unknown_effect(HIDDEN_EXECUTION);
        }
    }

    fn find_subcommand(&self, arg: ArgumentWord<'_>) -> Option<&'static CommandSpec> {
        match arg {
            // Words about which nothing is known can be options.
            ArgumentWord::Known(name) if self.operands.iter().all(|arg| may_be_option(*arg)) => {
                self.level.find_subcommand(name)
            }
            _ => None,
        }
    }

    /// Continues with a subcommand. The class stays lowered if an earlier option has lowered it.
    ///
    /// Help or a version before a subcommand does not prevent its work: `bun --version test` runs
    /// tests.
    fn enter_subcommand(&mut self, sub: &'static CommandSpec) {
        self.operands.clear();
        self.prints_help = false;
        self.level = sub;
        self.class = sub.class;
        self.meaning.version_control =
            self.meaning.version_control.max(sub.traits.version_control());
        self.kinds = sub.operands.to_operand_spec();
        self.checks.extend(sub.option_check());
        self.here = sub.traits.here;
        self.alone = sub.missing_operands_reason();
    }

    /// Adds the effects of the words before a subcommand that has its own reader.
    fn prepend_to(self, mut inner: CommandMeaning) -> CommandMeaning {
        inner.lower_class(self.meaning.class);
        inner.effects.splice(0..0, self.meaning.effects);
        inner.working_directory = inner.working_directory.or(self.meaning.working_directory);
        inner.version_control = inner.version_control.max(self.meaning.version_control);
        inner.remotes.splice(0..0, self.meaning.remotes);
        inner
    }

    fn add_option(&mut self, option: OptionSpec, value: Option<ArgumentWord<'a>>) {
        let level = self.level;
        self.has_other_options |=
            option.effect != OptionEffect::Ends && !OUTPUT_OPTIONS.contains(&option.name);
        self.given |= level.given.contains(option.name);
        self.here |= level.here_with.contains(option.name);
        self.includes_hidden_files |= includes_hidden_files(option.name);
        self.compares_outside_files |= option.name == "no-index" && level.name() == "diff";
        self.cuts |= level.cuts.contains(option.name);
        for when in level.option_overrides().iter().filter(|when| when.with.contains(option.name)) {
            self.class = when.class.unwrap_or(self.class);
            self.kinds = when.operands.map_or(self.kinds, OperandSpecRow::to_operand_spec);
            self.alone = self.alone.filter(|_| when.operands.is_none());
            self.strict |= when.strict;
            self.prints_names |= when.prints_paths;
            // `-check=false` disables the option that makes the command harmless.
            let is_off = !matches!(value, None | Some(ArgumentWord::Known("true")));
            if option.value == OptionValueKind::Nothing && is_off {
                self.meaning.lower_class(CommandClass::Unknown);
                self.needs_approval = true;
            }
        }
        if self.checks.iter().any(|check| !check(option.name, value)) {
            self.meaning.lower_class(CommandClass::Unknown);
            self.needs_approval = true;
        }
        if option.value == OptionValueKind::Rest {
            // The words after it belong to the command that it starts.
            self.kinds = OperandSpec { first: &[], repeated: Some(OperandKind::Asks), last: &[] };
        }
        if level.tokens.is_some() {
            self.options.push((option.name, value));
        }
        if let Some(values) = level.value_reader() {
            values(&mut self.meaning, option.name, value);
        }
        if option.effect == OptionEffect::Reads && CONTENT_OPTIONS.contains(&option.name) {
            value.into_iter().for_each(|value| self.meaning.add_read(value, false));
            self.given_files = true;
            return;
        }
        self.apply_option_effect(option.effect, value);
    }

    fn apply_option_effect(&mut self, does: OptionEffect, value: Option<ArgumentWord<'a>>) {
        self.needs_approval |= does >= OptionEffect::Asks;
        self.given_files |= does == OptionEffect::Reads;
        match (does, value) {
            (OptionEffect::Nothing, _) => {}
            // After an unknown subcommand, that subcommand determines the meaning. For some
            // programs, a repeated option is a different option, as is a cluster. `--version=x` is
            // an unknown option for many programs, and some then do their work.
            (OptionEffect::Ends, Some(_)) => self.mark_unclear(),
            (OptionEffect::Ends, _) if self.prints_help => self.mark_unclear(),
            (OptionEffect::Ends, _) => {
                self.prints_help |= self.level.subcommands().is_empty() || self.operands.is_empty();
            }
            (OptionEffect::Reads, Some(value)) => {
                self.meaning.add_read(value, self.level.traits.lists);
            }
            (OptionEffect::Writes, Some(value)) => self.add_write(value),
            (OptionEffect::Into, Some(value)) => self.target = Some(value),
            (OptionEffect::Moves, value) => self.meaning.set_working_directory(value),
            (OptionEffect::Reaches, Some(value)) => self.meaning.add_host(value),
            (OptionEffect::Mounts, Some(value)) => add_mount(&mut self.meaning, value),
            (OptionEffect::ReadsMore, Some(value)) => {
                self.meaning.add_read(value, false);
                self.meaning.lower_class(CommandClass::Unknown);
                self.meaning.add_unknown_effect(HIDDEN_EXECUTION);
            }
            (OptionEffect::Runs, Some(value)) => {
                self.meaning.lower_class(CommandClass::Unknown);
                self.meaning.add_script(value);
            }
            (OptionEffect::Runs | OptionEffect::Loads | OptionEffect::ReadsMore, _) => {
                self.meaning.lower_class(CommandClass::Unknown);
                self.meaning.add_unknown_effect(HIDDEN_EXECUTION);
            }
            (
                OptionEffect::Asks
                | OptionEffect::Reads
                | OptionEffect::Writes
                | OptionEffect::Into
                | OptionEffect::Reaches
                | OptionEffect::Mounts,
                _,
            ) => {
                self.meaning.lower_class(CommandClass::Unknown);
            }
        }
    }

    fn add_write(&mut self, arg: ArgumentWord<'a>) {
        if !(self.level.traits.stdout && arg == ArgumentWord::Known("-")) {
            self.meaning.add_write(arg);
        }
    }

    fn note_numeric_option(&mut self) {
        self.cuts |= self.level.cuts.contains("numbers");
    }

    fn mark_unclear(&mut self) {
        self.is_understood = false;
        self.meaning.lower_class(CommandClass::Unknown);
        // A word that is not understood can shift the words after it.
        let later = self.kinds.first.iter().skip(self.operands.len());
        if later.chain(&self.kinds.repeated).any(|kind| kind.is_command_start()) {
            self.meaning.add_unknown_effect(OPTIONS_NOT_UNDERSTOOD);
        }
    }

    fn next_operand_kind(&self) -> Option<OperandKind> {
        self.kinds.first.get(self.operands.len()).copied().or(self.kinds.repeated)
    }

    /// Returns whether a command or script begins with this operand.
    fn is_command_start(&mut self, arg: ArgumentWord<'a>) -> bool {
        let assigns = self.level.traits.assignments
            && matches!(arg, ArgumentWord::Known(text) | ArgumentWord::Prefix(text) if text.contains('='));
        self.next_operand_kind().is_some_and(OperandKind::is_command_start) && !assigns
    }

    fn add_command(&mut self, command: Argv) {
        self.has_inner_command = true;
        // `flock FILE -c SCRIPT` runs a script. After any other wrapper, `-c` would be the name of
        // a program.
        let scripted = matches!(command.words.known_word(0), Some("-c" | "--command"));
        if scripted && self.level.name() == "flock" {
            let script =
                command.words.known_word(1).map_or(ArgumentWord::Many, ArgumentWord::Known);
            self.meaning.add_script(script);
        } else if self.next_operand_kind() == Some(OperandKind::Script) {
            match join_words(&command.words) {
                Some(script) => self.meaning.effects.push(CommandEffect::Script(script)),
                None => self.meaning.add_unknown_effect("runs a script that is not known"),
            }
        } else if matches!(self.next_operand_kind(), Some(OperandKind::Tool | OperandKind::Guest)) {
            let guest = self.next_operand_kind() == Some(OperandKind::Guest);
            add_tool(&mut self.meaning, command, guest);
        } else if self.next_operand_kind() == Some(OperandKind::Plugin) {
            add_plugin(&mut self.meaning, self.level.name(), &command);
        } else {
            self.meaning.effects.push(CommandEffect::Runs(command));
        }
    }

    fn into_meaning(mut self) -> CommandMeaning {
        self.meaning.lower_class(self.class);
        // Only help or a version is printed if everything else was understood, and there is no
        // operand and no option that may come first: `tsc --init --help` writes a file. Many
        // programs read no options after the first operand, or do their work in addition.
        if self.prints_help
            && self.is_understood
            && self.operands.is_empty()
            && (self.class == CommandClass::Harmless || !self.has_other_options)
            && !self.needs_approval
            && self.meaning.effects.is_empty()
        {
            let starts = self.meaning.version_control;
            return CommandMeaning {
                version_control: starts,
                only_ends: true,
                ..CommandMeaning::new(CommandClass::Harmless)
            };
        }
        if self.strict && (self.needs_approval || self.given_files) {
            self.meaning.lower_class(CommandClass::Unknown);
            self.meaning.add_unknown_effect(HIDDEN_EXECUTION);
        }
        let traits = self.level.traits;
        let operands = std::mem::take(&mut self.operands);
        let mut kinds = self.kinds;
        if self.given {
            kinds.first = kinds.first.get(1..).unwrap_or_default();
        }
        self.assign_operand_kinds(&operands, kinds);
        self.meaning.lower_class(self.class);
        if !self.has_inner_command && kinds.has_command() {
            self.meaning.lower_class(CommandClass::Unknown); // Without a command it shows something or waits for input.
        }
        if let Some(target) = self.target {
            self.write_into(target, &operands);
        }
        let texts = kinds.first.iter().take_while(|kind| **kind == OperandKind::Text).count();
        if operands.len() <= texts && self.here {
            self.meaning.add_read(ArgumentWord::Known("."), traits.lists);
        }
        let carries = kinds.first.iter().chain(&kinds.repeated).any(|kind| kind.is_command_start());
        if let (true, false, Some(why)) =
            (operands.is_empty() || carries, self.has_inner_command, self.alone)
        {
            self.meaning.lower_class(CommandClass::Unknown);
            self.meaning.add_unknown_effect(why);
        }
        if !self.level.subcommands().is_empty() && !operands.is_empty() && !traits.mixed {
            self.meaning.lower_class(CommandClass::Unknown);
            let path =
                matches!(operands.first(), Some(ArgumentWord::Known(name)) if name.contains('/'));
            if path && STARTS_NAMED.contains(&self.level.name()) {
                self.meaning.add_unknown_effect(PATH_AS_SUBCOMMAND);
            }
        }
        // Options that are not harmless could print something else before the names.
        let names = self.meaning.class == CommandClass::Harmless
            && (traits.prints_paths || self.prints_names);
        if names && self.prints_names {
            self.meaning.add_read(ArgumentWord::Known("."), true);
        }
        if names {
            self.meaning.printed_files =
                find_printed_files(self.level.name(), self.includes_hidden_files);
        }
        if self.compares_outside_files {
            self.meaning.read_whole_directories();
        }
        self.meaning.search_directories(self.level.searches);
        let harmless = self.meaning.class == CommandClass::Harmless;
        self.meaning.output = match traits {
            _ if names => OutputKind::FileNames { bare: true },
            _ if harmless
                && self.level.token_output_check().is_some_and(|f| f(&self.options, &operands)) =>
            {
                OutputKind::Tokens
            }
            _ if traits.passes
                && !self.cuts
                && self.is_understood
                && self.meaning.effects.is_empty() =>
            {
                OutputKind::InputLines
            }
            _ => OutputKind::Anything,
        };
        self.meaning
    }

    /// Determines the kind of each operand and adds its effects.
    fn assign_operand_kinds(&mut self, operands: &[ArgumentWord<'a>], kinds: OperandSpec) {
        let fixed = if kinds.repeated.is_some() { kinds.first.len() } else { operands.len() };
        if operands.iter().take(fixed).any(|arg| may_be_option(*arg)) {
            // If one operand expands to several words, the positions of the others change.
            self.meaning.lower_class(CommandClass::Unknown);
            let mut fixed = kinds.first.iter().chain(kinds.last);
            if fixed.any(|kind| {
                matches!(kind, OperandKind::Writes | OperandKind::Changes | OperandKind::Into)
            }) {
                self.meaning.add_unknown_effect(UNKNOWN_FILE);
            }
        }
        let last_from = operands.len().saturating_sub(kinds.last.len());
        for (index, arg) in operands.iter().enumerate() {
            let kind = match kinds.first.get(index) {
                Some(kind) => Some(*kind),
                None if index >= last_from => kinds.last.get(index - last_from).copied(),
                None => kinds.repeated,
            };
            self.add_operand(*arg, kind, operands);
        }
    }

    fn add_operand(
        &mut self,
        arg: ArgumentWord<'a>,
        kind: Option<OperandKind>,
        all: &[ArgumentWord<'a>],
    ) {
        let except = self.level.except;
        let plain = match arg {
            ArgumentWord::Known(text) => {
                !except.iter().any(|held| text.to_ascii_lowercase().contains(held))
            }
            _ => except.iter().next().is_none(),
        };
        if !plain {
            self.meaning.lower_class(CommandClass::Unknown);
        }
        match kind {
            Some(OperandKind::Text) => {}
            Some(OperandKind::Reads) => self.meaning.add_read(arg, self.level.traits.lists),
            Some(OperandKind::Revision) => {
                add_revision(&mut self.meaning, arg, self.level.traits.lists);
            }
            Some(OperandKind::Pathspec) => {
                add_pathspec(&mut self.meaning, arg, self.level.traits.lists);
            }
            Some(OperandKind::Peg) => add_peg_revision(&mut self.meaning, arg),
            Some(OperandKind::Package) if matches!(arg, ArgumentWord::Known(text) if is_registry_package(text)) =>
                {}
            Some(OperandKind::Remote) => add_remote(&mut self.meaning, arg),
            Some(OperandKind::Writes) => self.add_write(arg),
            Some(OperandKind::Changes) => {
                self.meaning.add_read(arg, self.level.traits.lists);
                self.meaning.add_write(arg);
            }
            Some(OperandKind::Into) => self.add_destination(arg, all),
            Some(OperandKind::Reaches) => self.meaning.add_host(arg),
            Some(OperandKind::Loads) => {
                self.meaning.lower_class(CommandClass::Unknown);
                self.meaning.add_unknown_effect(HIDDEN_EXECUTION);
            }
            None
            | Some(
                OperandKind::Asks
                | OperandKind::Package
                | OperandKind::Runs
                | OperandKind::Script
                | OperandKind::Tool
                | OperandKind::Plugin
                | OperandKind::Guest,
            ) => {
                self.meaning.lower_class(CommandClass::Unknown);
            }
        }
    }

    /// Adds the last operand as the destination of the operands before it. A single operand is a
    /// file that gets the same name in the working directory.
    fn add_destination(&mut self, place: ArgumentWord<'a>, all: &[ArgumentWord<'a>]) {
        match all.split_last() {
            Some((_, sources)) if !sources.is_empty() => self.write_into(place, sources),
            _ => {
                self.meaning.add_read(place, self.level.traits.lists);
                self.write_into(ArgumentWord::Known("."), all);
            }
        }
    }

    /// Adds writes to a destination. It is replaced by the file, or it is a directory that will
    /// contain the file under its name.
    fn write_into(&mut self, place: ArgumentWord<'a>, sources: &[ArgumentWord<'a>]) {
        self.meaning.add_write(place);
        let ArgumentWord::Known(place) = place else { return };
        for source in sources {
            match source {
                ArgumentWord::Known(source) => self.write_under_name(place, source),
                // Names that begin with a dot could be settings files that do not exist yet.
                ArgumentWord::Files(WordSource::Pattern(pattern))
                    if !last_component(pattern).starts_with('.') =>
                {
                    let name = last_component(pattern);
                    let target = format!("{}/{name}", place.trim_end_matches('/'));
                    self.meaning.effects.push(CommandEffect::Writes(EffectTarget::Pattern(target)));
                }
                ArgumentWord::Files(WordSource::DescendantsOf { roots, .. })
                    if roots.is_empty() => {}
                ArgumentWord::Prefix(_) | ArgumentWord::Files(_) | ArgumentWord::Many => {
                    self.meaning.lower_class(CommandClass::Unknown);
                    self.meaning.add_unknown_effect(UNKNOWN_FILE);
                }
            }
        }
    }

    fn write_under_name(&mut self, place: &str, source: &str) {
        let name = last_component(source.trim_end_matches('/'));
        if !matches!(name, "" | "." | "..") {
            self.meaning
                .add_write(ArgumentWord::Known(&format!("{}/{name}", place.trim_end_matches('/'))));
        }
    }
}

/// Returns whether a word names a package of the registry: `react`, `@types/node@22`. A path is a
/// directory, an archive is a file, and `user/repo` or a word with a colon is a git repository.
fn is_registry_package(text: &str) -> bool {
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

fn may_be_option(arg: ArgumentWord<'_>) -> bool {
    match arg {
        // A pipe is one word, and is not a file.
        ArgumentWord::Files(WordSource::DescendantsOf { roots, .. }) => !roots.is_empty(),
        arg => {
            matches!(arg, ArgumentWord::Prefix("") | ArgumentWord::Many | ArgumentWord::Files(_))
        }
    }
}

fn last_component(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or_default()
}
