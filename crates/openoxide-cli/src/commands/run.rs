//! `run`: checks a command, asks for approval if needed, and runs it in the sandbox.

mod approval;
mod change_review;
mod checkpoint_commit;
pub(crate) mod confined_run;
mod engine_opening;
mod explicit_approval;
mod quarantine_restore;
mod run_endings;
mod run_target;
mod staged_commit;
mod ticketed_run;
mod undo;
mod waiting_stage;

use openoxide_engine::{CheckOptions, Engine, RecordOrigin};
use openoxide_protocol::Operation;
use openoxide_sandbox::is_in_sandbox;
use openoxide_tui::{LineMode, escape_text};

use crate::{
    args::{GlobalArgs, RunArgs, RunSandboxMode},
    confined_launch::{published_ports, withheld_variables_note},
    error::{CliError, run_args_error::RunArgsError},
    nested_run::report_nesting,
    program_exit::ProgramExit,
    user_messages,
};
use approval::{ApprovalResult, ApprovalVerdict};
use confined_run::{RunContext, requested_confinement};
use engine_opening::open_engine;
use run_endings::{
    reconstruct_command, report_interruption, report_refusal, report_unanswerable,
    report_unanswered,
};
use run_target::{Announcement, RunTarget};
pub(crate) use ticketed_run::run_ticket;
pub(crate) use undo::run_undo;
pub(crate) use waiting_stage::commit_waiting_stage;

/// Checks a command, asks for approval if needed, and runs it.
pub(crate) fn run_command(args: &RunArgs, global: GlobalArgs) -> Result<ProgramExit, CliError> {
    if args.sandbox != RunSandboxMode::Off && is_in_sandbox() {
        return Ok(report_nesting("run"));
    }
    let engine = open_engine(args, global)?;
    waiting_stage::report_interrupted_commits(&engine);
    checkpoint_commit::report_interrupted_undos(&engine);
    let target = RunTarget::from_args(args)?;
    let mut operation = target.to_operation(&engine);
    operation.session = args.session.unwrap_or(operation.session);
    if let Some(refusal) = early_refusal(&engine, args)? {
        return Ok(refusal.report(&engine, &operation));
    }
    let environment = confined_run::build_environment(engine.sandbox_settings(), &args.env)?;
    let context = RunContext::new(&engine, args, global, operation.session);
    let options = CheckOptions::new(RecordOrigin::RUN, requested_confinement(args));
    let Ok(ApprovalResult { verdict, review }) = context.check_operation(&operation, options, None)
    else {
        user_messages::warn_if_unrecorded(
            engine.audit_log().record_interruption(RecordOrigin::RUN, &operation),
        );
        return Ok(report_interruption(NOTHING_RUN_MESSAGE));
    };
    if let Some(exit) =
        review.as_ref().and_then(|review| report_unanswered(review, args, NOTHING_RUN_MESSAGE))
    {
        return Ok(exit);
    }
    match verdict {
        ApprovalVerdict::Allowed(permit) => {
            if args.sandbox != RunSandboxMode::Off
                && let Some(note) = withheld_variables_note(&environment)
            {
                user_messages::print_note(&note);
            }
            target.run_permitted(permit, environment, &context, Announcement::Reason)
        }
        ApprovalVerdict::Denied(refusal) => Ok(report_refusal(&refusal, NOTHING_RUN_MESSAGE)),
        ApprovalVerdict::Unanswerable(request) => {
            let words = reconstruct_command(args);
            Ok(report_unanswerable(&request, &words, NOTHING_RUN_MESSAGE))
        }
    }
}

/// The reason for which nothing is run, independent of the command.
struct EarlyRefusal {
    /// The reason in the audit record.
    reason: String,
    /// The message for the person.
    message: String,
}

impl EarlyRefusal {
    /// Records and prints the refusal.
    fn report(&self, engine: &Engine, operation: &Operation) -> ProgramExit {
        let record = engine.audit_log().record_refusal(RecordOrigin::RUN, operation, &self.reason);
        user_messages::warn_if_unrecorded(record);
        user_messages::print_line(&format!("openoxide: {}; {NOTHING_RUN_MESSAGE}", self.message));
        ProgramExit::Refused
    }
}

/// Returns the reason for which no command is run, if there is one.
///
/// # Errors
/// If the arguments contradict each other, or the directory does not exist.
fn early_refusal(engine: &Engine, args: &RunArgs) -> Result<Option<EarlyRefusal>, CliError> {
    let is_usual = args.sandbox == RunSandboxMode::Auto;
    if args.live && !is_usual {
        return Err(RunArgsError::RequiresSandbox("--live").into());
    }
    if let Some(error) = engine.managed_policy_error() {
        let (reason, shown) = (error.to_owned(), error.to_owned());
        return Ok(Some(EarlyRefusal { reason, message: shown }));
    }
    if !std::path::Path::new(engine.cwd().as_str()).is_dir() {
        return Err(RunArgsError::NotADirectory(engine.cwd().clone()).into());
    }
    if args.sandbox == RunSandboxMode::Off && !args.publish.is_empty() {
        return Err(RunArgsError::PublishWithoutSandbox.into());
    }
    if !args.publish.is_empty() && engine.forbids_publishing() {
        return Err(RunArgsError::PublishForbidden.into());
    }
    published_ports(&args.publish).map_err(RunArgsError::from)?;
    if args.stage && !is_usual {
        return Err(RunArgsError::RequiresSandbox("--stage").into());
    }
    if args.checkpoint && !is_usual {
        return Err(RunArgsError::RequiresSandbox("--checkpoint").into());
    }
    let required = engine.sandbox_requirement().filter(|_| args.sandbox == RunSandboxMode::Off);
    Ok(required.map(|why| {
        let reason = format!("`--sandbox off` is refused: {why}");
        let shown = escape_text(&reason, LineMode::SingleLine);
        EarlyRefusal { reason, message: shown }
    }))
}

/// The message for a rejected run.
const NOTHING_RUN_MESSAGE: &str = "nothing was run";
