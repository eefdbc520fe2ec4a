//! Execution of functions, builtins, programs, and the programs that other programs run.

use openoxide_protocol::{
    AbsPath, Access, AccessRoute, CommandClass, CommandWord, CommandWords, ExecAccess, FileSearch,
    PathAccess, Span, VersionControl,
};

use super::{
    Walk,
    carried::Role,
    environment, portable,
    simple::{Call, Input},
    state::State,
};
use crate::{
    arity, danger,
    findings::{self, Code},
    programs::{self, Arguments, Effect, Meaning, Paths, Prints, Target},
};

/// The maximum number of programs that start each other.
const MOST_LEVELS: u8 = 16;

/// The working directory of a command.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    /// The directory in which the script starts.
    Start,
    There(AbsPath),
    Unknown,
}

impl Place {
    /// Returns the directory, if it is not the one in which the script starts. The root stands for
    /// an unknown directory, because it is not inside of any other directory.
    fn elsewhere(self) -> Option<AbsPath> {
        match self {
            Self::There(place) => Some(place),
            Self::Start => None,
            Self::Unknown => Some(AbsPath::root()),
        }
    }
}

impl Walk<'_> {
    /// Runs a command of the script. `functions` is true if the name may be that of a function.
    pub(super) fn run(&mut self, call: &Call<'_>, functions: bool) -> Option<State> {
        if call.argv.is_empty() {
            return None;
        }
        let Some(name) = call.argv.known_word(0) else {
            self.opaque(call.text, call.span, Code::Program);
            return None;
        };
        let meaning = self.exec(call, call.arguments(), call.text.to_owned(), 0, Role::Program);
        self.only_bash |= portable::differs(&call.argv);
        let function = functions && self.defines(name);
        let prints = if function { None } else { self.printed(call, &meaning) };
        let failed = if function {
            self.call_function(call, name, meaning)
        } else {
            self.run_named(call, name, meaning)
        };
        self.prints = prints;
        failed
    }

    /// Runs a builtin or a program.
    fn run_named(&mut self, call: &Call<'_>, name: &str, meaning: Meaning) -> Option<State> {
        match self.builtin(call, name) {
            Some(failed) => failed,
            None => {
                self.inside(call, call.arguments(), meaning, 0);
                None
            }
        }
    }

    pub(super) fn defines(&self, name: &str) -> bool {
        self.seen.defines(name) || self.known.defines(name)
    }

    /// Runs what may be a function, or the builtin or program of the same name: it is not certain which.
    fn call_function(&mut self, call: &Call<'_>, name: &str, meaning: Meaning) -> Option<State> {
        if self.parallel && self.inside.iter().any(|function| function == name) {
            self.note(Code::ForkBomb, call.span);
        }
        self.state.variables.clear();
        self.seen.torn |= self.stdin.is_some();
        if self.known.moves || self.seen.moves {
            self.state.lose_place();
        }
        self.may_fail();
        let before = self.state.clone();
        let failed = self.run_named(call, name, meaning);
        self.settle(failed);
        self.state.merge(before);
        None
    }

    /// Adds a finding without a separate access.
    pub(super) fn note(&mut self, code: Code, span: Span) {
        self.facts.findings.push(findings::at(code, span));
    }

    /// Adds a program that runs, and what it touches.
    pub(super) fn exec(
        &mut self,
        call: &Call<'_>,
        argv: Arguments<'_>,
        text: String,
        level: u8,
        role: Role,
    ) -> Meaning {
        let name = argv.known(0).unwrap_or_default();
        let mut meaning = programs::meaning(argv);
        programs::add_possible_options(&mut meaning, argv);
        let place = self.place(&meaning);
        let trusted = !call.altered
            && !call.reveals
            && !self.defines(name)
            && (name != "env" || !alters(argv.words))
            && (meaning.starts == VersionControl::None || place != Place::Unknown);
        let only_redirects = name == "exec" && argv.words.len() == 1;
        let plain_shell = level == 0 && is_plain_shell(name, argv.words, &meaning);
        let class = match (trusted, only_redirects || plain_shell) {
            (false, _) => CommandClass::Unknown,
            (true, true) => CommandClass::Harmless,
            (true, false) => meaning.class,
        };
        self.tear(call, name, &meaning);
        if role == Role::Tool {
            self.carry(argv.words.clone(), meaning.plain.clone());
        } else {
            self.carrier = Some(self.facts.accesses.len());
            self.facts.accesses.push(Access::Exec(ExecAccess {
                argv: argv.words.clone(),
                text,
                class,
                span: call.span,
                arity: arity::prefix_len(argv.words),
                cwd: place.elsewhere(),
                normalized_argv: meaning.plain.clone(),
                carried_commands: Vec::new(),
                version_control: meaning.starts,
                remotes: meaning.remotes.clone(),
                databases: meaning.databases.clone(),
                unproved: meaning.unproved,
            }));
        }
        // The directory that `cd` enters is only entered.
        if name == "cd" {
            self.enters(call);
        } else {
            self.touches(call, &meaning, class, level == 0);
            self.patches(call, argv.words, &meaning);
        }
        if danger::concerns(name) {
            self.dangers(call, argv.words);
        }
        meaning
    }

    /// Returns where a command works.
    fn place(&self, meaning: &Meaning) -> Place {
        let Some(mut bases) = self.state.bases.known(self.setting.cwd) else {
            return Place::Unknown;
        };
        let (Some(base), None) = (bases.next(), bases.next()) else { return Place::Unknown };
        match &meaning.place {
            Some(place) => Place::There(base.join(place)),
            None if base == self.setting.cwd => Place::Start,
            None => Place::There(base.clone()),
        }
    }

    /// Adds what a program reads, writes and reaches.
    fn touches(&mut self, call: &Call<'_>, meaning: &Meaning, class: CommandClass, outer: bool) {
        if let Some(place) = &meaning.place {
            self.climbs(place, call.span);
            // The contents of the directory determine what the program does.
            let here = Target::File(".".to_owned());
            self.touch_target(call, meaning, &here, Access::Read, AccessRoute::Metadata, class);
        }
        for effect in &meaning.effects {
            match effect {
                Effect::Reads(target) => {
                    self.touch_target(
                        call,
                        meaning,
                        target,
                        Access::Read,
                        AccessRoute::Program,
                        class,
                    );
                }
                Effect::Lists(target) => {
                    self.touch_target(
                        call,
                        meaning,
                        target,
                        Access::Read,
                        AccessRoute::Metadata,
                        class,
                    );
                }
                Effect::Searches(target, search) => self.searches(call, meaning, target, search),
                Effect::Writes(target) => {
                    self.touch_target(
                        call,
                        meaning,
                        target,
                        Access::Edit,
                        AccessRoute::Program,
                        class,
                    );
                }
                Effect::WritesDescriptor(device) => self.write_descriptor(device, call.span),
                Effect::Reaches(url) => {
                    let (host, touch) = (String::new(), AccessRoute::Program);
                    self.facts.accesses.push(Access::Fetch {
                        host,
                        url: url.clone(),
                        route: touch,
                    });
                }
                Effect::MayBeOption(option) => self.possible_option(call, option, outer),
                Effect::Runs(_)
                | Effect::Tool(_)
                | Effect::Guest(_)
                | Effect::Script(_)
                | Effect::Unknown(_) => {}
            }
        }
    }

    /// Adds that a program works in a directory whose path leads up: what comes before a `..` must not be a link.
    fn climbs(&mut self, place: &str, span: Span) {
        let paths = self.paths(place, span).filter(|_| place.contains(".."));
        let climbed = |path| PathAccess { route: AccessRoute::Metadata, ..path };
        let paths = paths.into_iter().flatten().map(climbed);
        self.facts.accesses.extend(paths.map(Access::ExternalDirectory));
    }

    /// Adds that the files below a directory are searched.
    fn searches(
        &mut self,
        call: &Call<'_>,
        meaning: &Meaning,
        target: &Target,
        search: &FileSearch,
    ) {
        let (Target::File(text) | Target::Pattern(text) | Target::Printed(text)) = target;
        let moved = match &meaning.place {
            Some(place) if !text.starts_with('/') => &format!("{place}/{text}"),
            _ => text,
        };
        let pattern = matches!(target, Target::Pattern(_));
        for path in self.paths(moved, call.span).into_iter().flatten() {
            let (touch, search) = (AccessRoute::Program, Some(Box::new(search.clone())));
            self.facts.accesses.push(Access::Read(PathAccess {
                route: touch,
                is_pattern: pattern,
                search,
                ..path
            }));
        }
    }

    fn touch_target(
        &mut self,
        call: &Call<'_>,
        meaning: &Meaning,
        target: &Target,
        access: fn(PathAccess) -> Access,
        touch: AccessRoute,
        class: CommandClass,
    ) {
        let (Target::File(text) | Target::Pattern(text) | Target::Printed(text)) = target;
        let moved = match &meaning.place {
            Some(place) if !text.starts_with('/') => &format!("{place}/{text}"),
            _ => text,
        };
        let (pattern, printed) =
            (matches!(target, Target::Pattern(_)), matches!(target, Target::Printed(_)));
        match self.paths(moved, call.span) {
            Some(paths) => {
                let paths = paths.into_iter().map(|path| PathAccess {
                    route: touch,
                    is_pattern: pattern,
                    has_piped_names: printed,
                    ..path
                });
                self.facts.accesses.extend(paths.map(access));
            }
            // A command that is known to be harmless must be known to read nothing else.
            None if class != CommandClass::Unknown
                || matches!(access(PathAccess::new(self.setting.cwd.clone())), Access::Edit(_)) =>
            {
                let access = Access::Opaque { text: call.text.to_owned(), span: call.span };
                self.facts.accesses.push(access);
            }
            None => {}
        }
    }

    /// Returns the directories of the files whose names a command prints, if it prints nothing
    /// else.
    fn printed(&self, call: &Call<'_>, meaning: &Meaning) -> Option<Paths> {
        match meaning.prints {
            Prints::Anything => None,
            Prints::Input => self.inherited(call),
            Prints::Tokens => Some(Paths::Tokens),
            Prints::Paths { bare } => {
                let mut roots = Vec::new();
                for effect in &meaning.effects {
                    let (Effect::Reads(Target::File(text) | Target::Printed(text))
                    | Effect::Lists(Target::File(text) | Target::Printed(text))) = effect
                    else {
                        return None;
                    };
                    let paths = self.paths(text, Span::default())?;
                    roots.extend(paths.into_iter().map(|path| path.path.to_string()));
                }
                let search =
                    meaning.printed.clone().unwrap_or_else(|| Box::new(FileSearch::all_files()));
                Some(Paths::Below { roots, bare, search: Some(search) })
            }
        }
    }

    pub(super) fn dangers(&mut self, call: &Call<'_>, argv: &CommandWords) {
        // The project must not get lost, also from elsewhere.
        let mut bases = self.state.bases.all(self.setting.cwd).into_owned();
        if !bases.contains(self.setting.cwd) {
            bases.push(self.setting.cwd.clone());
        }
        let place = danger::Place { bases: &bases, home: self.setting.home };
        for mut finding in danger::findings(argv, &place) {
            finding.span = call.span;
            self.facts.findings.push(finding);
        }
    }

    /// Walks what a program runs in its turn.
    pub(super) fn inside(
        &mut self,
        call: &Call<'_>,
        argv: Arguments<'_>,
        meaning: Meaning,
        level: u8,
    ) {
        if level > MOST_LEVELS {
            return self.opaque(call.text, call.span, Code::TooLong);
        }
        let name = base_name(argv.known(0).unwrap_or_default());
        if let (Input::Text(script), true) = (&call.input, is_bare_shell(name, argv.words)) {
            return self.shell(name, script, call.span);
        }
        if self.piped && call.input == Input::Inherited && reads_code(name, argv.words) {
            self.note(Code::Piped, call.span);
        }
        let altered = call.altered || self.assigns_for_others(call, name, argv.words);
        let carrier = self.carrier;
        let bases = self.state.bases.clone();
        if let Some(place) = &meaning.place {
            self.move_tools(place);
        }
        for mut effect in meaning.effects {
            self.carrier = carrier;
            if meaning.place.is_some() {
                effect.forget_paths();
            }
            match effect {
                Effect::Runs(command) => self.inner(call, command, altered, level, Role::Program),
                Effect::Tool(command) => self.inner(call, command, altered, level, Role::Tool),
                Effect::Guest(command) => self.guest(call, command, altered, level),
                Effect::Script(script) => self.shell(name, &script, call.span),
                Effect::Unknown(why) => {
                    let text = call.text.to_owned();
                    self.facts.accesses.push(Access::Opaque { text, span: call.span });
                    self.facts.findings.push(findings::hidden(why, call.span));
                }
                Effect::Reads(_)
                | Effect::Lists(_)
                | Effect::Searches(..)
                | Effect::Writes(_)
                | Effect::WritesDescriptor(_)
                | Effect::Reaches(_)
                | Effect::MayBeOption(_) => {}
            }
        }
        self.state.bases = bases;
    }

    /// Moves the commands that a program runs to another directory: `uv --directory sub run …`.
    fn move_tools(&mut self, place: &str) {
        let known = self.state.bases.known(self.setting.cwd);
        let there = known.map(|bases| bases.map(|base| base.join(place)).collect::<Vec<_>>());
        match (there, AbsPath::new(place)) {
            (Some(there), _) => self.state.bases.set(there, self.setting.cwd),
            (None, Ok(there)) => self.state.bases.set(vec![there], self.setting.cwd),
            (None, Err(_)) => {}
        }
    }

    /// Returns whether `env NAME=value` or a similar command changes what the program inside does.
    fn assigns_for_others(&mut self, call: &Call<'_>, name: &str, argv: &CommandWords) -> bool {
        let mut altered = false;
        if matches!(name, "sudo" | "doas" | "su" | "runuser") {
            // It is the other user's.
            self.seen.assign_for_program("HOME");
        }
        if !matches!(name, "env" | "sudo" | "doas") {
            return altered;
        }
        for word in argv.iter().skip(1) {
            let (CommandWord::Known(text) | CommandWord::KnownPrefix(text)) = word else {
                continue;
            };
            let Some((variable, value)) = text.split_once('=') else { continue };
            let whole = matches!(word, CommandWord::Known(_));
            self.seen.assign_for_program(variable);
            if environment::changes_programs(variable) {
                self.note(Code::Environment, call.span);
            }
            self.note_alteration(variable, call.span);
            let encodes = environment::chooses_encoding(variable)
                && !(whole && environment::keeps_ascii(value));
            if environment::runs_code(variable) || environment::names_place(variable) || encodes {
                self.opaque(call.text, call.span, Code::Environment);
            }
            altered |= !environment::is_harmless(variable);
        }
        altered || name == "env" && takes_away(argv)
    }

    /// Notes that a program is given a variable that is not known to leave it as it is. Those that are known to change it
    /// are noted wherever they are assigned.
    pub(super) fn note_alteration(&mut self, variable: &str, span: Span) {
        if !environment::is_harmless(variable) && !environment::changes_programs(variable) {
            self.note(Code::Environment, span);
        }
    }

    /// Walks the script that another shell runs.
    fn shell(&mut self, name: &str, script: &str, span: Span) {
        let was = std::mem::take(&mut self.only_bash);
        // The script is not a part of the function around it: there is nothing to return from, and
        // nothing is local.
        let inside = std::mem::take(&mut self.inside);
        self.apart(|walk| {
            walk.state.variables.clear();
            walk.script(script, span);
            let other =
                matches!(name, "zsh" | "ksh" | "mksh" | "fish" | "csh" | "tcsh" | "nu" | "pwsh");
            // A construct that bash and a plain shell read differently must not be analysed for
            // only one of them.
            if name != "bash" && walk.only_bash || other {
                walk.opaque(script, span, Code::Syntax);
            }
        });
        self.inside = inside;
        self.only_bash = was;
    }
}

/// Returns the name of a program without its directory.
fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether a shell gets no script except its standard input.
fn is_bare_shell(name: &str, argv: &CommandWords) -> bool {
    matches!(name, "bash" | "sh" | "dash")
        && argv.iter().skip(1).all(|word| {
            matches!(
                word,
                CommandWord::Known(
                    "-" | "-s" | "-e" | "-u" | "-x" | "-eu" | "-ex" | "-eux" | "-ux"
                )
            )
        })
}

/// Returns whether a program runs its standard input as code.
fn reads_code(name: &str, argv: &CommandWords) -> bool {
    let shell = matches!(name, "sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "mksh" | "fish");
    let interpreter = shell
        || name.starts_with("python")
        || matches!(
            name,
            "perl" | "ruby" | "node" | "php" | "lua" | "Rscript" | "pwsh" | "deno" | "bun"
        );
    let second = argv.iter().nth(1);
    interpreter
        && match second {
            None | Some(CommandWord::Known("-" | "-s" | "/dev/stdin") | CommandWord::AnyWords) => {
                true
            }
            Some(CommandWord::Known(option)) => {
                shell && option.starts_with('-') && !option.contains('c') && argv.len() == 2
            }
            Some(CommandWord::KnownPrefix(_)) => false,
        }
}

/// Returns whether a shell gets its script as a plain operand, and nothing else.
fn is_plain_shell(name: &str, argv: &CommandWords, meaning: &Meaning) -> bool {
    matches!(name, "bash" | "dash" | "sh")
        && argv.len() == 3
        && matches!(argv.known_word(1), Some("-c" | "-lc" | "-ec" | "-euc"))
        && matches!(meaning.effects.as_slice(), [Effect::Script(_)])
}

/// Returns whether `env` sets or removes a variable that is not known to leave the program
/// unchanged.
fn alters(argv: &CommandWords) -> bool {
    takes_away(argv)
        || argv.iter().any(|word| match word {
            CommandWord::Known(text) | CommandWord::KnownPrefix(text) => text
                .split_once('=')
                .is_some_and(|(variable, _)| !environment::is_harmless(variable)),
            CommandWord::AnyWords => true,
        })
}

/// Returns whether `env` removes all variables, or one that affects programs. Without `PAGER=cat`,
/// they start a pager of their choice.
fn takes_away(argv: &CommandWords) -> bool {
    let mut words = argv.iter().skip(1);
    while let Some(word) = words.next() {
        let CommandWord::Known(text) = word else { return false };
        let (letters, removed) = match text.strip_prefix("--") {
            None if text == "-" => return true,
            None if text.contains('=') => continue,
            None => match text.strip_prefix('-') {
                None => return false,
                Some(letters) => {
                    letters.split_once('u').map_or((letters, None), |(letters, name)| {
                        (letters, Some(name).filter(|name| !name.is_empty()))
                    })
                }
            },
            Some(long) => {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                let all = !name.is_empty() && "ignore-environment".starts_with(name);
                let one = !name.is_empty() && "unset".starts_with(name);
                (
                    if all {
                        "i"
                    } else if one {
                        "u"
                    } else {
                        ""
                    },
                    value.filter(|_| one),
                )
            }
        };
        let takes_next = removed.is_none() && (text.ends_with('u') || letters == "u");
        let next = if takes_next { words.next() } else { None };
        let name = removed.map(CommandWord::Known).or(next);
        let obeyed = match name {
            Some(CommandWord::Known(name)) => environment::changes_programs(name),
            Some(_) => true,
            None => false,
        };
        if letters.contains('i') || obeyed {
            return true;
        }
    }
    false
}

/// Returns a command for a person to read, its words quoted where that is needed.
pub(super) fn render(argv: &CommandWords) -> String {
    let mut text = String::new();
    for word in argv.iter() {
        if !text.is_empty() {
            text.push(' ');
        }
        match word {
            CommandWord::Known(word) if is_bare(word) => text.push_str(word),
            CommandWord::Known(word) => {
                text.extend(["'", &word.replace('\'', "'\\''"), "'"]);
            }
            CommandWord::KnownPrefix(word) => text.extend([word, "…"]),
            CommandWord::AnyWords => text.push('…'),
        }
    }
    text
}

fn is_bare(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:,@%+=-".contains(&byte))
}
