//! `sandbox`: the sandbox without a policy.

mod caches;
mod live_prompt;
mod sandbox_run;
mod sandbox_status;
mod staged_commit;

pub(crate) use sandbox_status::{available_backend, unavailable_reason};

use openoxide_sandbox::supervisor_main;

use crate::{
    args::{GlobalArgs, SandboxCommand},
    commands::run::run_ticket,
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// Runs a subcommand of `sandbox`.
pub(crate) fn run_sandbox_command(
    verb: &SandboxCommand,
    global: GlobalArgs,
) -> Result<ProgramExit, CliError> {
    match verb {
        SandboxCommand::Run(args) => Ok(sandbox_run::run_in_sandbox(args, global)?),
        SandboxCommand::Supervise { launch, wire } => Ok(match supervisor_main(launch, wire) {
            Ok(()) => ProgramExit::Success,
            Err(error) => {
                user_messages::print_error(&error);
                ProgramExit::RunFailed
            }
        }),
        SandboxCommand::Exec { ticket } => run_ticket(ticket, global),
        SandboxCommand::Status { json } => Ok(sandbox_status::show_status(*json, global)),
        SandboxCommand::Caches(verb) => Ok(caches::run_caches_command(verb)?),
    }
}
