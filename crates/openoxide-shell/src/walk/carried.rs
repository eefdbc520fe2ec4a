//! The commands that a program runs in its turn, and the options that words could be which are not known.

use openoxide_protocol::{Access, CommandWords, PathAccess};

use super::{Walk, program::render, simple::Call};
use crate::{
    findings::{self, Code},
    programs::{Argv, Paths, PossibleOption},
};

/// The kind of rule that covers a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A separate rule.
    Program,
    /// A rule for the program that runs it covers it.
    Tool,
}

impl Walk<'_> {
    /// Adds that a word could be an option that is not harmless. Of a pattern the names of the files decide.
    pub(super) fn possible_option(
        &mut self,
        call: &Call<'_>,
        option: &PossibleOption,
        outer: bool,
    ) {
        let word = if outer { call.source(option.index) } else { None };
        let Some(pattern) = &option.pattern else {
            let message = match word {
                Some(word) => format!("`{word}` could be {}", option.what),
                None => format!("a word that is not known could be {}", option.what),
            };
            let text = call.text.to_owned();
            self.facts.accesses.push(Access::Opaque { text, span: call.span });
            self.facts.findings.push(findings::hidden(message, call.span));
            return;
        };
        // What the shell puts before the names, or a directory, is not read as an option.
        let first = pattern.split('/').next().unwrap_or_default();
        let first = if first.contains("**") { "*" } else { first };
        let Some(bases) = self.state.bases.known(self.setting.cwd) else {
            return self.opaque(call.text, call.span, Code::Hidden);
        };
        let looked = bases.map(|base| {
            Access::Read(PathAccess {
                is_pattern: true,
                option_prefixes: Some(option.names.clone()),
                raw_path: option.what.clone(),
                span: call.span,
                ..PathAccess::new(base.join(first))
            })
        });
        let looked: Vec<_> = looked.collect();
        self.facts.accesses.extend(looked);
    }

    pub(super) fn inner(
        &mut self,
        call: &Call<'_>,
        mut command: Argv,
        altered: bool,
        level: u8,
        role: Role,
    ) {
        if command.words.is_empty() {
            return;
        }
        if command.words.known_word(0).is_none() {
            return self.opaque(call.text, call.span, Code::Program);
        }
        let stdin = self.inherited(call);
        command.paths.retain_mut(|(_, paths)| match (&*paths, &stdin) {
            (Paths::Input { whole }, Some(known)) => {
                *paths = known.clone().read(*whole);
                true
            }
            (Paths::Input { .. }, None) => false,
            _ => true,
        });
        let inner = Call {
            text: call.text,
            span: call.span,
            sources: Vec::new(),
            input: call.input.clone(),
            argv: CommandWords::new(),
            paths: Vec::new(),
            tainted: call.tainted,
            numbers: call.numbers,
            altered,
            reveals: call.reveals,
            obscure: call.obscure,
        };
        let arguments = command.as_arguments();
        let meaning = self.exec(&inner, arguments, render(arguments.words), level + 1, role);
        self.inside(&inner, arguments, meaning, level + 1);
    }

    /// Adds a command to those that another one carries.
    pub(super) fn carry(&mut self, words: CommandWords, plain: Option<CommandWords>) {
        let carrier = self.carrier.and_then(|index| self.facts.accesses.get_mut(index));
        if let Some(Access::Exec(exec)) = carrier {
            exec.carried_commands.push(words);
            exec.carried_commands.extend(plain);
        }
    }

    /// Looks at a command that runs in a container: what it touches are not the files of this machine. The commands in it are carried.
    pub(super) fn guest(&mut self, call: &Call<'_>, command: Argv, altered: bool, level: u8) {
        let (before, carrier) = (self.facts.accesses.len(), self.carrier);
        self.inner(call, command, altered, level, Role::Tool);
        self.carrier = carrier;
        for access in self.facts.accesses.split_off(before.min(self.facts.accesses.len())) {
            match access {
                Access::Exec(exec) => {
                    self.carry(exec.argv, exec.normalized_argv);
                    exec.carried_commands.into_iter().for_each(|words| self.carry(words, None));
                }
                Access::Opaque { .. } => self.facts.accesses.push(access),
                _ => {}
            }
        }
    }
}
