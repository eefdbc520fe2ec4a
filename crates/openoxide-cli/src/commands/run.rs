//! `run`: checks a command, asks for approval if needed, and runs it in the sandbox.

mod approval;
mod change_review;
mod checkpoint_commit;
pub(crate) mod confined_run;
mod engine_opening;
mod explicit_approval;
mod quarantine_restore;
mod run_endings;
mod staged_commit;
mod ticketed_run;
mod undo;
mod waiting_stage;

use std::{
    cell::RefCell, ffi::OsString, io, os::unix::process::ExitStatusExt as _, process::ExitStatus,
};

use openoxide_adapters::quote_words;
use openoxide_engine::{
    CallerRestriction, CheckOptions, Engine, ExecutionPermit, PlannedRun, PlannedRunError,
    RecordOrigin, RunOptions, RunReport,
};
use openoxide_protocol::{Action, Effect, NetworkAccess, Obligation, Operation};
use openoxide_sandbox::{SandboxError, is_in_sandbox};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use crate::{
    args::{GlobalArgs, RunArgs, RunSandboxMode},
    commands::call_operation,
    confined_launch::{
        HOST_NETWORK_NOTE, SUPERVISOR_ARGS, published_ports, report_nesting,
        withheld_variables_note,
    },
    confinement_report::time_limit_message,
    error::{CliError, run_args_error::RunArgsError},
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
use staged_commit::StageReview;
use ticketed_run::Announcement;
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
    let (session, refusals) = (operation.session, RefCell::default());
    let context = RunContext {
        engine: &engine,
        args,
        global,
        session,
        refused_paths: refusals,
        approved_directories: RefCell::default(),
    };
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

/// The command to run.
enum RunTarget {
    Script(String),
    Program(Vec<String>),
}

impl RunTarget {
    fn from_args(args: &RunArgs) -> Result<Self, CliError> {
        match (&args.script, args.command.is_empty()) {
            (Some(script), _) => Ok(Self::Script(script.clone())),
            (None, false) => Ok(Self::Program(args.command.clone())),
            (None, true) => Err(RunArgsError::NoCommand.into()),
        }
    }

    /// Returns the operation to check. A program with its arguments is checked as the quoted shell
    /// command line with the same words.
    fn to_operation(&self, engine: &Engine) -> Operation {
        let script = self.command_text();
        let input = json!({ "command": script });
        call_operation::new_person_operation(
            "Bash".to_owned(),
            Action::Command { script },
            input,
            engine.cwd(),
        )
    }

    fn command_text(&self) -> String {
        match self {
            Self::Script(script) => script.clone(),
            Self::Program(words) => quote_words(words),
        }
    }

    /// Runs a permitted command, and returns its exit.
    fn run_permitted(
        &self,
        permit: ExecutionPermit,
        environment: Vec<(OsString, OsString)>,
        context: &RunContext<'_>,
        announcement: Announcement,
    ) -> Result<ProgramExit, CliError> {
        let options = RunOptions {
            argv: self.argv(),
            sandbox: restriction(context.args.sandbox),
            environment,
            stage: context.args.stage,
            checkpoint: context.args.checkpoint,
            live: context.args.live,
            published_ports: published_ports(&context.args.publish).map_err(RunArgsError::from)?,
            supervisor: &SUPERVISOR_ARGS,
            output: None,
        };
        let planned = permit.plan(context.engine, options, context)?;
        if announcement == Announcement::Reason {
            announce(&planned, context.engine);
        }
        Ok(match planned.run(context) {
            Ok(RunReport { status, stage }) => {
                let ended = self.exit_for_status(status, context.engine);
                let command = self.command_text();
                stage
                    .and_then(|stage| match context.args.checkpoint {
                        true => {
                            checkpoint_commit::commit_with_checkpoint(&stage, &command, context)
                        }
                        false => StageReview::new(stage, &command, context).review_and_commit(),
                    })
                    .unwrap_or(ended)
            }
            Err(PlannedRunError::Sandbox(error)) => not_confined(&error, context.engine),
            Err(error @ (PlannedRunError::WrongOperation | PlannedRunError::DirectoryChanged)) => {
                user_messages::print_error(&error);
                ProgramExit::RunFailed
            }
        })
    }

    fn exit_for_status(&self, status: io::Result<ExitStatus>, engine: &Engine) -> ProgramExit {
        let words = self.argv();
        let program = words.first().map_or("", String::as_str);
        match status {
            Ok(status) => exit_from_status(status),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                user_messages::print_error(&format!("`{program}` was not found"));
                ProgramExit::NotFound
            }
            // The command was started, and the limit of the policy ended it.
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                let limit = engine.sandbox_settings().limits.seconds.map(u64::from);
                user_messages::print_line(&time_limit_message(limit, "`seconds` in a policy"));
                ProgramExit::TimedOut
            }
            Err(error) => {
                user_messages::print_error(&format!("`{program}` did not start: {error}"));
                ProgramExit::RunFailed
            }
        }
    }

    /// Returns the words to execute. bash reads no start-up file, so it runs only the script.
    fn argv(&self) -> Vec<String> {
        match self {
            Self::Script(script) => {
                ["bash", "--norc", "--noprofile", "-c", script].map(str::to_owned).into()
            }
            Self::Program(words) => words.clone(),
        }
    }
}

/// Returns the restriction of the sandbox, or `None` to run without a sandbox.
const fn restriction(sandbox: RunSandboxMode) -> Option<CallerRestriction> {
    match sandbox {
        RunSandboxMode::Off => None,
        RunSandboxMode::Auto => Some(CallerRestriction::AsDecided),
        RunSandboxMode::ReadOnly => Some(CallerRestriction::ReadOnly),
    }
}

/// Prints the reason for which a command may run, its sandbox, and notes for the person.
fn announce(planned: &PlannedRun<'_>, engine: &Engine) {
    let decision = planned.decision();
    let why = match decision.effect {
        Effect::Allow => escape_text(&decision.reason, LineMode::SingleLine),
        Effect::Ask | Effect::Deny => "approved".to_owned(),
    };
    let how = match planned.profile() {
        Some(_) if decision.obligations.contains(&Obligation::Sandboxed) => "",
        Some(_) => "; running in the sandbox",
        None => "; running without a sandbox, with your full permissions",
    };
    user_messages::print_line(&format!("openoxide: {why}{how}"));
    let Some(held) = planned.profile() else { return };
    confined_run::lost_files_notes(decision, held, engine)
        .iter()
        .for_each(user_messages::print_note);
    if held.network == NetworkAccess::On {
        user_messages::print_note(&HOST_NETWORK_NOTE);
    }
}

/// Reports that the sandbox could not be set up, with advice.
fn not_confined(error: &SandboxError, engine: &Engine) -> ProgramExit {
    user_messages::print_error(&format!("nothing was run: {error}"));
    if matches!(error, SandboxError::PortUnavailable { .. }) {
        return ProgramExit::RunFailed;
    }
    let off = match engine.sandbox_requirement() {
        Some(why) => format!("running without a sandbox is not permitted: {why}"),
        None => "`--sandbox off` runs it without a sandbox, with your full permissions".to_owned(),
    };
    user_messages::print_note(&format!(
        "`openoxide sandbox status` shows what this machine can enforce; {off}"
    ));
    ProgramExit::RunFailed
}

/// Returns the exit code of a status. A program that a signal ended has 128 plus the number of the
/// signal, as in shells.
fn exit_from_status(status: ExitStatus) -> ProgramExit {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ProgramExit::Program(
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(ProgramExit::RunFailed.code()),
    )
}
