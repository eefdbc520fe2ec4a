//! Commands inside other commands.

use openoxide_protocol::CommandClass;

use super::super::{ArgumentWord, Argv, CommandEffect, CommandMeaning, command_spec::CommandSpec};

pub(super) const OPTIONS_NOT_UNDERSTOOD: &str = "its options were not understood";
pub(super) const HIDDEN_EXECUTION: &str = "it can run something that its words do not show";
pub(super) const OTHER_DIRECTORY: &str = "runs a command in another directory";
pub(super) const STARTS_SHELL: &str = "starts a shell";

/// The command inside another command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InnerCommand {
    /// These words run no command.
    Nothing,
    /// These words run no command. They only print help or a version.
    PrintsHelp,
    /// These words run one program.
    Command(Argv),
    /// These words run this script in a shell.
    Script(String),
    /// These words run the script in this file.
    ScriptFile(String),
    /// These words run an unknown command, for this reason.
    Unknown(&'static str),
}

/// The reason for the finding about a shell that runs a script file.
pub(crate) const RUNS_SCRIPT_FILE: &str = "runs a script file";

pub(super) const UNCLEAR_COMMAND: InnerCommand = InnerCommand::Unknown(OPTIONS_NOT_UNDERSTOOD);

/// Returns the meaning of a command that runs other commands.
pub(super) fn wrapper_meaning(level: &CommandSpec, inside: InnerCommand) -> CommandMeaning {
    let mut meaning = CommandMeaning::new(level.class);
    match inside {
        InnerCommand::Nothing => {}
        InnerCommand::PrintsHelp => return CommandMeaning::new(CommandClass::Harmless),
        InnerCommand::Command(command) => meaning.effects.push(CommandEffect::Runs(command)),
        InnerCommand::Script(script) => meaning.effects.push(CommandEffect::Script(script)),
        InnerCommand::ScriptFile(file) => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(RUNS_SCRIPT_FILE);
            meaning.add_read(ArgumentWord::Known(&file), false);
        }
        InnerCommand::Unknown(why) => {
            meaning.lower_class(CommandClass::Unknown);
            meaning.add_unknown_effect(why);
        }
    }
    meaning
}

pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
