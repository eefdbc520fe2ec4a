//! Completions and manual pages.

use clap::CommandFactory as _;

use crate::{args::CliArgs, program_exit::ProgramExit, user_messages};

/// Prints completions.
pub(crate) fn print_completions(shell: clap_complete::Shell) -> Result<ProgramExit, String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CliArgs::command(), "openoxide", &mut script);
    Ok(user_messages::print_data(&script, ProgramExit::Success))
}

/// Prints the manual page, of the program or of one verb.
pub(crate) fn print_man_page(verb: Option<&str>) -> Result<ProgramExit, String> {
    let mut program = CliArgs::command();
    program.build();
    let command = match verb {
        None => program,
        Some(verb) => match program.find_subcommand(verb) {
            Some(found) => found.clone(),
            None => return Err(format!("no verb is called `{verb}`")),
        },
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command).render(&mut page).map_err(|error| error.to_string())?;
    Ok(user_messages::print_data(&page, ProgramExit::Success))
}
