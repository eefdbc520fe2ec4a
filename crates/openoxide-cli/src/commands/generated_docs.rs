//! `completions` and `man`: shell completions and manual pages.

use clap::CommandFactory as _;

use crate::{
    args::CliArgs,
    error::{CliError, stream_error::StreamError},
    program_exit::ProgramExit,
    user_messages,
};

/// Prints the completions for a shell.
pub(crate) fn print_completions(shell: clap_complete::Shell) -> ProgramExit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CliArgs::command(), "openoxide", &mut script);
    user_messages::print_document(&script, ProgramExit::Success)
}

/// Prints the manual page of the program or of one command.
pub(crate) fn print_man_page(verb: Option<&str>) -> Result<ProgramExit, CliError> {
    let mut program = CliArgs::command();
    program.build();
    let command = match verb {
        None => program,
        Some(verb) => match program.find_subcommand(verb) {
            Some(found) => found.clone(),
            None => return Err(CliError::UnknownCommand(verb.to_owned())),
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(StreamError::Unwritable)?;
    Ok(user_messages::print_document(&page, ProgramExit::Success))
}
