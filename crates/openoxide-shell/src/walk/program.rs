//! What runs: functions, builtins, programs, and the programs inside of programs.

use openoxide_protocol::{Access, CommandClass, Exec, Span, Word, Words};

use super::{
    Walk, environment, portable,
    simple::{Call, Input},
    state::State,
};
use crate::{
    arity, classify, danger,
    findings::{self, Code},
    wrappers::{self, Inside},
};

/// How many programs may start each other.
const MOST_LEVELS: u8 = 16;

impl Walk<'_> {
    /// Runs a command of the script. `functions` says whether a function may be meant.
    pub(super) fn run(&mut self, call: &Call<'_>, functions: bool) -> Option<State> {
        if call.argv.is_empty() {
            return None;
        }
        let Some(name) = call.argv.known(0) else {
            self.opaque(call.text, call.span, Code::Program);
            return None;
        };
        self.exec(call, &call.argv, call.text.to_owned(), 0);
        self.only_bash |= portable::differs(&call.argv);
        if functions && self.defines(name) {
            return self.call_function(call, name);
        }
        self.run_named(call, name)
    }

    /// Runs a builtin or a program.
    fn run_named(&mut self, call: &Call<'_>, name: &str) -> Option<State> {
        match self.builtin(call, name) {
            Some(failed) => failed,
            None => {
                self.inside(call, &call.argv, 0);
                None
            }
        }
    }

    pub(super) fn defines(&self, name: &str) -> bool {
        self.seen.defines(name) || self.known.defines(name)
    }

    /// Runs what may be a function, or the builtin or program of the same name: it is not certain which.
    fn call_function(&mut self, call: &Call<'_>, name: &str) -> Option<State> {
        if self.parallel && self.inside.iter().any(|function| function == name) {
            self.note(Code::ForkBomb, call.span);
        }
        self.state.variables.clear();
        if self.known.moves || self.seen.moves {
            self.state.bases.lose();
        }
        let before = self.state.clone();
        let failed = self.run_named(call, name);
        self.settle(failed);
        self.state.merge(before);
        None
    }

    /// Adds a finding without an access of its own.
    pub(super) fn note(&mut self, code: Code, span: Span) {
        self.facts.findings.push(findings::at(code, span));
    }

    /// Adds a program that runs, and what it reads.
    fn exec(&mut self, call: &Call<'_>, argv: &Words, text: String, level: u8) {
        let name = argv.known(0).unwrap_or_default();
        let known = classify::classify(argv);
        let harmless = known.class == CommandClass::Harmless
            || is_harmless_builtin(name, argv)
            || wrappers::adds_nothing(argv, level > 0) && !alters(argv);
        let misled = name == "git" && self.is_elsewhere();
        let trusted = harmless && !call.altered && !misled && !self.defines(name);
        let class = if trusted { CommandClass::Harmless } else { CommandClass::Unknown };
        let arity = arity::prefix_len(argv);
        let exec = Exec { argv: argv.clone(), text, class, span: call.span, arity };
        self.facts.accesses.push(Access::Exec(exec));
        if name == "cd" {
            self.enters(call);
        }
        // The directory that `cd` enters is only entered.
        if trusted && name != "cd" {
            known.reads.iter().for_each(|file| self.read(call, file));
        }
        self.dangers(call, argv);
    }

    /// Says whether the working directory may be another than the one that the script started in. A repository there
    /// can tell `git` to run programs.
    fn is_elsewhere(&self) -> bool {
        self.state.bases.all(self.setting.cwd).as_ref() != std::slice::from_ref(self.setting.cwd)
    }

    fn read(&mut self, call: &Call<'_>, file: &str) {
        match self.paths(file, call.span) {
            Some(paths) => self.facts.accesses.extend(paths.into_iter().map(Access::Read)),
            None => {
                let access = Access::Opaque { text: call.text.to_owned(), span: call.span };
                self.facts.accesses.push(access);
            }
        }
    }

    fn dangers(&mut self, call: &Call<'_>, argv: &Words) {
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
    pub(super) fn inside(&mut self, call: &Call<'_>, argv: &Words, level: u8) {
        if level > MOST_LEVELS {
            return self.opaque(call.text, call.span, Code::TooLong);
        }
        let name = base_name(argv.known(0).unwrap_or_default());
        if let (Input::Text(script), true) = (&call.input, is_bare_shell(name, argv)) {
            return self.shell(name, script, call.span);
        }
        if self.piped && call.input == Input::Inherited && reads_code(name, argv) {
            self.note(Code::Piped, call.span);
        }
        let altered = call.altered || self.assigns_for_others(call, name, argv);
        match wrappers::unfold(argv) {
            Inside::Nothing => {}
            Inside::Command(inner) => self.inner(call, &inner, altered, level),
            Inside::Commands(all) => {
                all.iter().for_each(|inner| self.inner(call, inner, altered, level));
            }
            Inside::Script(script) => self.shell(name, &script, call.span),
            Inside::Unknown(_) => self.opaque(call.text, call.span, Code::Evaluated),
        }
    }

    fn inner(&mut self, call: &Call<'_>, argv: &Words, altered: bool, level: u8) {
        if argv.is_empty() {
            return;
        }
        if argv.known(0).is_none() {
            return self.opaque(call.text, call.span, Code::Program);
        }
        let inner = Call {
            text: call.text,
            span: call.span,
            input: call.input.clone(),
            argv: Words::new(),
            tainted: call.tainted,
            numbers: call.numbers,
            altered,
        };
        self.exec(&inner, argv, render(argv), level + 1);
        self.inside(&inner, argv, level + 1);
    }

    /// Says whether `env NAME=value` and its like change what the program inside does.
    fn assigns_for_others(&mut self, call: &Call<'_>, name: &str, argv: &Words) -> bool {
        let mut altered = false;
        if !matches!(name, "env" | "sudo" | "doas") {
            return altered;
        }
        for word in argv.iter().skip(1) {
            let (Word::Known(text) | Word::Begins(text)) = word else { continue };
            let Some((variable, _)) = text.split_once('=') else { continue };
            if environment::changes_programs(variable) {
                self.note(Code::Environment, call.span);
            }
            self.note_alteration(variable, call.span);
            if environment::runs_code(variable) {
                self.opaque(call.text, call.span, Code::Environment);
            }
            altered |= !environment::is_harmless(variable);
        }
        altered
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
        self.apart(|walk| {
            walk.state.variables.clear();
            walk.script(script, span);
            let other =
                matches!(name, "zsh" | "ksh" | "mksh" | "fish" | "csh" | "tcsh" | "nu" | "pwsh");
            // What bash and a plain shell read in two ways, must not be judged by one of them.
            if name != "bash" && walk.only_bash || other {
                walk.opaque(script, span, Code::Syntax);
            }
        });
        self.only_bash = was;
    }
}

/// Returns the name of a program without its directory.
fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Says whether a shell is given no script but what it reads from standard input.
fn is_bare_shell(name: &str, argv: &Words) -> bool {
    matches!(name, "bash" | "sh" | "dash")
        && argv.iter().skip(1).all(|word| {
            matches!(
                word,
                Word::Known("-" | "-s" | "-e" | "-u" | "-x" | "-eu" | "-ex" | "-eux" | "-ux")
            )
        })
}

/// Says whether a program takes what it reads from standard input for code.
fn reads_code(name: &str, argv: &Words) -> bool {
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
            None | Some(Word::Known("-" | "-s" | "/dev/stdin") | Word::Many) => true,
            Some(Word::Known(option)) => {
                shell && option.starts_with('-') && !option.contains('c') && argv.len() == 2
            }
            Some(Word::Begins(_)) => false,
        }
}

/// Says whether a builtin of the shell changes nothing that outlives the shell, and reads nothing.
/// Says whether `env` gives what it starts a variable that is not known to leave it as it is.
fn alters(argv: &Words) -> bool {
    argv.known(0) == Some("env")
        && argv.iter().any(|word| match word {
            Word::Known(text) | Word::Begins(text) => text
                .split_once('=')
                .is_some_and(|(variable, _)| !environment::is_harmless(variable)),
            Word::Many => true,
        })
}

fn is_harmless_builtin(name: &str, argv: &Words) -> bool {
    // Alone, or with `-p`, these show every variable, also those of the environment.
    if matches!(name, "set" | "declare" | "typeset" | "readonly" | "local")
        && (argv.len() == 1 || argv.iter().any(|word| word == Word::Known("-p")))
    {
        return false;
    }
    matches!(
        name,
        "cd" | "exit"
            | "return"
            | "break"
            | "continue"
            | "shift"
            | ":"
            | "true"
            | "false"
            | "wait"
            | "local"
            | "declare"
            | "typeset"
            | "readonly"
            | "unset"
            | "read"
            | "set"
            | "getopts"
            | "let"
            | "umask"
            | "times"
            | "trap"
            | "eval"
    )
}

/// Returns a command for a person to read, its words quoted where that is needed.
fn render(argv: &Words) -> String {
    let mut text = String::new();
    for word in argv.iter() {
        if !text.is_empty() {
            text.push(' ');
        }
        match word {
            Word::Known(word) if is_bare(word) => text.push_str(word),
            Word::Known(word) => {
                text.extend(["'", &word.replace('\'', "'\\''"), "'"]);
            }
            Word::Begins(word) => text.extend([word, "…"]),
            Word::Many => text.push('…'),
        }
    }
    text
}

fn is_bare(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:,@%+=-".contains(&byte))
}
