//! The commands that other programs run, and the options that unknown words may be.

use openoxide_protocol::{Access, CommandWords, PathAccess};

use super::{ScriptWalk, command_call::CommandCall, command_text::render_command};
use crate::{
    findings::{self, FindingCode},
    programs::{Argv, PossibleOption, WordSource},
};

/// The kind of rule that covers a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandRole {
    /// The command needs a separate rule.
    Program,
    /// A rule for the program that runs the command covers it.
    CoveredTool,
}

impl ScriptWalk<'_> {
    /// Adds that a word may be an option that is not harmless. If the word is a pattern, the names
    /// of the matching files decide.
    pub(super) fn add_possible_option(
        &mut self,
        call: &CommandCall<'_>,
        option: &PossibleOption,
        outer: bool,
    ) {
        let word = if outer { call.word_text(option.index) } else { None };
        let Some(pattern) = &option.pattern else {
            let message = match word {
                Some(word) => format!("`{word}` could be {}", option.what),
                None => format!("a word that is not known could be {}", option.what),
            };
            let text = call.text.to_owned();
            self.facts.accesses.push(Access::Opaque { text, span: call.span });
            self.facts.findings.push(findings::new_hidden_effect_finding(message, call.span));
            return;
        };
        // A directory, or text that the shell puts before the names, is not read as an option.
        let first = pattern.split('/').next().unwrap_or_default();
        let first = if first.contains("**") { "*" } else { first };
        let Some(bases) = self.state.working_directories.known_directories(self.context.cwd) else {
            return self.add_opaque_access(call.text, call.span, FindingCode::HiddenEffect);
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

    pub(super) fn walk_inner_command(
        &mut self,
        call: &CommandCall<'_>,
        mut command: Argv,
        altered: bool,
        level: u8,
        role: CommandRole,
    ) {
        if command.words.is_empty() {
            return;
        }
        if command.words.known_word(0).is_none() {
            return self.add_opaque_access(call.text, call.span, FindingCode::Program);
        }
        let stdin = self.find_inherited_files(call);
        command.paths.retain_mut(|(_, paths)| match (&*paths, &stdin) {
            (WordSource::StandardInput { whole }, Some(known)) => {
                let read = known.clone().read_from_stream(*whole);
                read.map(|names| *paths = names).is_some()
            }
            (WordSource::StandardInput { .. }, None) => false,
            _ => true,
        });
        let inner = CommandCall {
            text: call.text,
            span: call.span,
            sources: Vec::new(),
            input: call.input.clone(),
            argv: CommandWords::new(),
            paths: Vec::new(),
            tainted: call.tainted,
            numbers: call.numbers,
            // Their effects are those of the outer command.
            assigned: Vec::new(),
            has_altered_environment: altered,
            reveals_secret: call.reveals_secret,
            obscure: call.obscure,
            redirects_output: call.redirects_output,
        };
        let arguments = command.as_argv_ref();
        let meaning = self.add_exec_access(
            &inner,
            arguments,
            render_command(arguments.words),
            level + 1,
            role,
        );
        self.walk_inner_commands(&inner, arguments, meaning, level + 1);
    }

    /// Adds a command to the commands that another one carries.
    pub(super) fn add_carried_command(&mut self, words: CommandWords, plain: Option<CommandWords>) {
        let carrier = self.carrier.and_then(|index| self.facts.accesses.get_mut(index));
        if let Some(Access::Exec(exec)) = carrier {
            exec.carried_commands.push(words);
            exec.carried_commands.extend(plain);
        }
    }

    /// Walks a command that runs in a container. It does not access the files of this machine. Its
    /// commands are carried.
    pub(super) fn walk_container_command(
        &mut self,
        call: &CommandCall<'_>,
        command: Argv,
        altered: bool,
        level: u8,
    ) {
        let (before, carrier) = (self.facts.accesses.len(), self.carrier);
        self.walk_inner_command(call, command, altered, level, CommandRole::CoveredTool);
        self.carrier = carrier;
        for access in self.facts.accesses.split_off(before.min(self.facts.accesses.len())) {
            match access {
                Access::Exec(exec) => {
                    self.add_carried_command(exec.argv, exec.normalized_argv);
                    exec.carried_commands
                        .into_iter()
                        .for_each(|words| self.add_carried_command(words, None));
                }
                Access::Opaque { .. } => self.facts.accesses.push(access),
                _ => {}
            }
        }
    }
}
