//! Completions and manual pages.

use clap::CommandFactory as _;

use crate::{args::Args, exit::Exit, report};

/// Prints completions.
pub(crate) fn completions(shell: clap_complete::Shell) -> Result<Exit, String> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "openoxide", &mut script);
    Ok(report::data(&script, Exit::Success))
}

/// Prints the manual page, of the program or of one verb.
pub(crate) fn man(verb: Option<&str>) -> Result<Exit, String> {
    let mut program = Args::command();
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
    Ok(report::data(&page, Exit::Success))
}
