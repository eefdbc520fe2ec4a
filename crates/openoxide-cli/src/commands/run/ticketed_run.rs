//! Running a command of an agent in the sandbox, with the ticket of the agent's hook.

use openoxide_engine::{Engine, new_session_id};
use openoxide_store::{RunTicket, UserEnvironment};
use openoxide_tui::{LineMode, escape_text};

use super::{
    confined_run::{self, RunContext},
    run_endings::report_refusal,
    run_target::{Announcement, RunTarget},
    waiting_stage,
};
use crate::{
    args::{GlobalArgs, RunArgs},
    error::CliError,
    program_exit::ProgramExit,
    user_messages,
};

/// The beginning of the message for the model.
const NOT_RUN_MESSAGE: &str = "nothing was run";

/// Runs the command of a ticket. The output and the exit status are those of the command; what the
/// sandbox refuses is reported on standard error.
///
/// # Errors
/// If the policy cannot be read.
pub(crate) fn run_ticket(id: &str, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    let environment = UserEnvironment::from_process();
    let ticket = match RunTicket::redeem(&environment, id) {
        Ok(ticket) => ticket,
        Err(error) => {
            user_messages::print_line(&format!("openoxide: {NOT_RUN_MESSAGE}: {error}"));
            return Ok(ProgramExit::Refused);
        }
    };
    let args = RunArgs { stage: false, ..waiting_stage::run_args(&ticket.cwd) };
    let engine = Engine::open_for_ticket(&ticket, environment)?;
    if let Some(error) = engine.managed_policy_error() {
        let shown = escape_text(error, LineMode::SingleLine);
        user_messages::print_line(&format!("openoxide: {NOT_RUN_MESSAGE}: {shown}"));
        return Ok(ProgramExit::Refused);
    }
    let permit = match engine.permit_ticket(&ticket) {
        Ok(permit) => permit,
        Err(refusal) => return Ok(report_refusal(&refusal, NOT_RUN_MESSAGE)),
    };
    let global = GlobalArgs { no_input: true, ..global };
    let variables = confined_run::build_environment(engine.sandbox_settings(), &args.env)?;
    let context = RunContext::new(&engine, &args, global, new_session_id());
    RunTarget::Script(ticket.script).run_permitted(permit, variables, &context, Announcement::None)
}
