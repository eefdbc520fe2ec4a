//! Execution of functions, builtins, programs, and the programs that other programs run.

use openoxide_protocol::{
    AbsPath, Access, CommandClass, CommandWord, CommandWords, ExecAccess, Span, VersionControl,
};

use super::{
    carried_commands::CommandRole,
    command_call::{CommandCall, StdinSource},
    environment_changes::alters_environment,
    named_resources::{add_named_addresses, add_named_resources},
    posix_differences,
    script_walk::ScriptWalk,
    state::WalkState,
};
use crate::{
    arity, danger,
    findings::{self, FindingCode},
    programs::{self, ArgvRef, CommandEffect, CommandMeaning},
};

/// The maximum number of programs that start each other.
const MAX_NESTED_PROGRAMS: u8 = 16;

/// The working directory of a command.
#[derive(Debug, PartialEq, Eq)]
enum CommandDirectory {
    /// The directory in which the script starts.
    Start,
    Known(AbsPath),
    Unknown,
}

impl CommandDirectory {
    /// Returns the directory, if it is not the one in which the script starts. The root stands for
    /// an unknown directory, because it is not inside any other directory.
    fn other_directory(self) -> Option<AbsPath> {
        match self {
            Self::Known(place) => Some(place),
            Self::Start => None,
            Self::Unknown => Some(AbsPath::root()),
        }
    }
}

impl ScriptWalk<'_> {
    /// Runs a command of the script. `functions` is true if the name may refer to a function.
    pub(super) fn run_command(
        &mut self,
        call: &CommandCall<'_>,
        functions: bool,
    ) -> Option<WalkState> {
        if call.argv.is_empty() {
            return None;
        }
        let Some(name) = call.argv.known_word(0) else {
            self.add_opaque_access(call.text, call.span, FindingCode::Program);
            return None;
        };
        let meaning = self.add_exec_access(
            call,
            call.as_argv(),
            call.text.to_owned(),
            0,
            CommandRole::Program,
        );
        self.is_bash_only |= posix_differences::differs_in_posix_shell(&call.argv);
        let function = functions && self.defines_function(name);
        let prints = if function { None } else { self.find_printed_files(call, &meaning) };
        let failed = if function {
            self.call_function(call, name, meaning)
        } else {
            self.run_builtin_or_program(call, name, meaning)
        };
        self.printed_files = prints;
        failed
    }

    /// Runs a builtin or a program.
    fn run_builtin_or_program(
        &mut self,
        call: &CommandCall<'_>,
        name: &str,
        meaning: CommandMeaning,
    ) -> Option<WalkState> {
        match self.walk_builtin(call, name) {
            Some(failed) => failed,
            None => {
                self.walk_inner_commands(call, call.as_argv(), meaning, 0);
                None
            }
        }
    }

    pub(super) fn defines_function(&self, name: &str) -> bool {
        self.current_scan.defines_function(name) || self.previous_scan.defines_function(name)
    }

    /// Runs a function, or the builtin or program of the same name, if it is not certain which of
    /// them runs.
    fn call_function(
        &mut self,
        call: &CommandCall<'_>,
        name: &str,
        meaning: CommandMeaning,
    ) -> Option<WalkState> {
        if self.is_parallel && self.active_functions.iter().any(|function| function == name) {
            self.add_finding(FindingCode::ForkBomb, call.span);
        }
        self.forget_values();
        self.current_scan.has_partial_reads |= self.stdin.is_some();
        if self.previous_scan.changes_cwd_repeatedly || self.current_scan.changes_cwd_repeatedly {
            self.state.forget_working_directory();
        }
        self.note_possible_failure();
        let before = self.state.clone();
        let failed = self.run_builtin_or_program(call, name, meaning);
        self.merge_failure(failed);
        self.state.merge_branch(before);
        None
    }

    /// Adds a program that runs, and its accesses.
    pub(super) fn add_exec_access(
        &mut self,
        call: &CommandCall<'_>,
        argv: ArgvRef<'_>,
        text: String,
        level: u8,
        role: CommandRole,
    ) -> CommandMeaning {
        let name = argv.known_word(0).unwrap_or_default();
        let mut meaning = programs::analyze_command(argv);
        programs::add_possible_options(&mut meaning, argv);
        add_named_resources(&call.assigned, argv, &mut meaning);
        add_named_addresses(argv, &mut meaning);
        if call.redirects_output {
            programs::remove_nohup_output(&mut meaning, argv);
        }
        let place = self.command_directory(&meaning);
        let trusted = !call.has_altered_environment
            && !call.reveals_secret
            && !self.defines_function(name)
            && (name != "env" || !alters_environment(argv.words))
            && (meaning.version_control == VersionControl::None
                || place != CommandDirectory::Unknown);
        let only_redirects = name == "exec" && argv.words.len() == 1;
        let plain_shell = level == 0 && is_visible_shell_script(name, argv.words, &meaning);
        let class = match (trusted, only_redirects || plain_shell) {
            (false, _) => CommandClass::Unknown,
            (true, true) => CommandClass::Harmless,
            (true, false) => meaning.class,
        };
        self.note_partial_read(call, name, &meaning);
        let cause = self.find_cause(call, argv, &meaning, class);
        if role == CommandRole::CoveredTool {
            self.add_carried_command(argv.words.clone(), meaning.canonical_words.clone());
        } else {
            self.carrier = Some(self.facts.accesses.len());
            self.facts.accesses.push(Access::Exec(ExecAccess {
                argv: argv.words.clone(),
                text,
                class,
                span: call.span,
                arity: arity::always_prefix_len(argv.words),
                cwd: place.other_directory(),
                normalized_argv: meaning.canonical_words.clone(),
                carried_commands: Vec::new(),
                version_control: meaning.version_control,
                remotes: meaning.remotes.clone(),
                databases: meaning.databases.clone(),
                unproved: meaning.unproved,
                cause,
            }));
        }
        // `cd` only enters its directory.
        if name == "cd" {
            self.add_entered_directory(call);
        } else {
            self.add_effects(call, &meaning, class, level == 0);
            self.patches(call, argv.words, &meaning);
        }
        if danger::is_dangerous_program(name) {
            self.add_dangers(call, argv.words);
        }
        meaning
    }

    /// Returns the working directory of a command.
    fn command_directory(&self, meaning: &CommandMeaning) -> CommandDirectory {
        let Some(mut bases) = self.state.working_directories.known_directories(self.context.cwd)
        else {
            return CommandDirectory::Unknown;
        };
        let (Some(base), None) = (bases.next(), bases.next()) else {
            return CommandDirectory::Unknown;
        };
        match &meaning.working_directory {
            Some(place) => CommandDirectory::Known(base.join(place)),
            None if base == self.context.cwd => CommandDirectory::Start,
            None => CommandDirectory::Known(base.clone()),
        }
    }

    /// Walks the commands that a program runs.
    pub(super) fn walk_inner_commands(
        &mut self,
        call: &CommandCall<'_>,
        argv: ArgvRef<'_>,
        meaning: CommandMeaning,
        level: u8,
    ) {
        if level > MAX_NESTED_PROGRAMS {
            return self.add_opaque_access(call.text, call.span, FindingCode::TooLong);
        }
        let name = base_name(argv.known_word(0).unwrap_or_default());
        if let (StdinSource::Text(script), true) = (&call.input, is_stdin_shell(name, argv.words)) {
            return self.walk_shell_script(name, script, call.span);
        }
        if self.reads_pipe
            && call.input == StdinSource::Inherited
            && reads_code_from_stdin(name, argv.words)
        {
            self.add_finding(FindingCode::PipedCode, call.span);
        }
        let altered =
            call.has_altered_environment || self.alters_inner_program(call, name, argv.words);
        let carrier = self.carrier;
        let bases = self.state.working_directories.clone();
        if let Some(place) = &meaning.working_directory {
            self.enter_tool_directory(place);
        }
        for mut effect in meaning.effects {
            self.carrier = carrier;
            if meaning.working_directory.is_some() {
                effect.forget_paths();
            }
            match effect {
                CommandEffect::Runs(command) => {
                    self.walk_inner_command(call, command, altered, level, CommandRole::Program);
                }
                CommandEffect::Tool(command) => {
                    self.walk_inner_command(
                        call,
                        command,
                        altered,
                        level,
                        CommandRole::CoveredTool,
                    );
                }
                CommandEffect::GuestCommand(command) => {
                    self.walk_container_command(call, command, altered, level);
                }
                CommandEffect::Script(script) => self.walk_shell_script(name, &script, call.span),
                CommandEffect::Unknown(why) => {
                    let text = call.text.to_owned();
                    self.facts.accesses.push(Access::Opaque { text, span: call.span });
                    self.facts.findings.push(findings::new_hidden_effect_finding(why, call.span));
                }
                CommandEffect::Reads(_)
                | CommandEffect::ReadsMetadata(_)
                | CommandEffect::Searches(..)
                | CommandEffect::Writes(_)
                | CommandEffect::ChangesFound(..)
                | CommandEffect::WritesDescriptor(_)
                | CommandEffect::Reaches(_)
                | CommandEffect::MayBeOption(_) => {}
            }
        }
        self.state.working_directories = bases;
    }

    /// Moves the commands that a program runs to another directory: `uv --directory sub run …`.
    fn enter_tool_directory(&mut self, place: &str) {
        let known = self.state.working_directories.known_directories(self.context.cwd);
        let there = known.map(|bases| bases.map(|base| base.join(place)).collect::<Vec<_>>());
        match (there, AbsPath::new(place)) {
            (Some(there), _) => {
                self.state.working_directories.set_directories(there, self.context.cwd);
            }
            (None, Ok(there)) => {
                self.state.working_directories.set_directories(vec![there], self.context.cwd);
            }
            (None, Err(_)) => {}
        }
    }

    /// Walks the script that another shell runs.
    fn walk_shell_script(&mut self, name: &str, script: &str, span: Span) {
        let was = std::mem::take(&mut self.is_bash_only);
        // The script is not part of the function around it. There is nothing to return from, and
        // nothing is local.
        let inside = std::mem::take(&mut self.active_functions);
        self.walk_in_subprocess(|walk| {
            walk.state.variables.clear();
            walk.walk_script(script, span);
            let other =
                matches!(name, "zsh" | "ksh" | "mksh" | "fish" | "csh" | "tcsh" | "nu" | "pwsh");
            // A construct that bash and a plain shell read differently must not be analysed for
            // only one of them.
            if name != "bash" && walk.is_bash_only || other {
                walk.add_opaque_access(script, span, FindingCode::Syntax);
            }
        });
        self.active_functions = inside;
        self.is_bash_only = was;
    }
}

/// Returns the name of a program without its directory.
fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns whether a shell gets its script only from standard input.
fn is_stdin_shell(name: &str, argv: &CommandWords) -> bool {
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
fn reads_code_from_stdin(name: &str, argv: &CommandWords) -> bool {
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

/// Returns whether a shell gets its script as a plain operand and in no other way. A path must be in
/// a directory of the system, because another program can have the same name elsewhere.
fn is_visible_shell_script(name: &str, argv: &CommandWords, meaning: &CommandMeaning) -> bool {
    let name =
        name.strip_prefix("/bin/").or_else(|| name.strip_prefix("/usr/bin/")).unwrap_or(name);
    matches!(name, "bash" | "dash" | "sh")
        && argv.len() == 3
        && matches!(argv.known_word(1), Some("-c" | "-lc" | "-ec" | "-euc"))
        && matches!(meaning.effects.as_slice(), [CommandEffect::Script(_)])
}
