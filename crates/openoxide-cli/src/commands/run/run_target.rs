//! The command of a run: the operation that is checked, and its execution after it was permitted.

use std::{ffi::OsString, io, os::unix::process::ExitStatusExt as _, process::ExitStatus};

use openoxide_adapters::quote_words;
use openoxide_engine::{
    CallerRestriction, Engine, ExecutionPermit, PlannedRun, PlannedRunError, RunOptions, RunReport,
};
use openoxide_protocol::{Action, Effect, NetworkAccess, Obligation, Operation};
use openoxide_sandbox::{SandboxError, StagingArea};
use openoxide_tui::{LineMode, escape_text};
use serde_json::json;

use super::{
    checkpoint_commit,
    confined_run::{self, RunContext},
    staged_commit::StageReview,
};
use crate::{
    args::{RunArgs, RunSandboxMode},
    commands::call_operation,
    confined_launch::{HOST_NETWORK_NOTE, SUPERVISOR_ARGS, published_ports},
    confinement_report::time_limit_message,
    error::{CliError, run_args_error::RunArgsError},
    program_exit::ProgramExit,
    user_messages,
};

/// The message before a command runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Announcement {
    /// The reason for which it may run.
    Reason,
    /// No message, because an agent reads the output.
    None,
}

/// The command to run.
pub(super) enum RunTarget {
    Script(String),
    Program(Vec<String>),
}

impl RunTarget {
    pub(super) fn from_args(args: &RunArgs) -> Result<Self, CliError> {
        match (&args.script, args.command.is_empty()) {
            (Some(script), _) => Ok(Self::Script(script.clone())),
            (None, false) => Ok(Self::Program(args.command.clone())),
            (None, true) => Err(RunArgsError::NoCommand.into()),
        }
    }

    /// Returns the operation to check. A program with its arguments is checked as the quoted shell
    /// command line with the same words.
    pub(super) fn to_operation(&self, engine: &Engine) -> Operation {
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
    pub(super) fn run_permitted(
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
                stage.and_then(|stage| self.commit_changes(stage, context)).unwrap_or(ended)
            }
            Err(PlannedRunError::Sandbox(error)) => not_confined(&error, context.engine),
            Err(error @ (PlannedRunError::WrongOperation | PlannedRunError::DirectoryChanged)) => {
                user_messages::print_error(&error);
                ProgramExit::RunFailed
            }
        })
    }

    /// Commits the changes of the command. Returns the exit if it differs from that of the command.
    fn commit_changes(&self, stage: StagingArea, context: &RunContext<'_>) -> Option<ProgramExit> {
        let command = self.command_text();
        match context.args.checkpoint {
            true => checkpoint_commit::commit_with_checkpoint(&stage, &command, context),
            false => StageReview::new(stage, &command, context).review_and_commit(),
        }
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
