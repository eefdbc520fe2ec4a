//! `run`: the whole way. Decide, ask in the terminal, run.

mod again;
mod approval;
pub(crate) mod confined;
mod ends;
mod put_back;
mod staged;

use std::{
    cell::RefCell, ffi::OsString, io, os::unix::process::ExitStatusExt as _, process::ExitStatus,
};

use openoxide_adapters::quote;
use openoxide_engine::{
    CheckOptions, Engine, ExecutionPermit, PlannedRun, RecordOrigin, RunError, RunOptions,
    RunReport, SandboxRestriction,
};
use openoxide_protocol::{Action, Effect, Network, Operation};
use openoxide_sandbox::SandboxError;
use openoxide_store::{Environment, audit::Enforced};
use openoxide_tui::{AskOptions, Input, Lines, Style, visible};
use serde_json::json;

use crate::{
    args::{Global, RunArgs, RunSandbox},
    color,
    commands::{call, sandbox::HOST_NETWORK, trust},
    error::CliError,
    exit::Exit,
    policy_args, report,
};
use approval::{Approval, Verdict};
use confined::RunContext;
use ends::{interrupted, refused, unanswerable, unanswered};

/// Judges a command, asks about it if need be, and runs it.
pub(crate) fn run(args: &RunArgs, global: Global) -> Result<Exit, CliError> {
    let engine = open(args, global)?;
    let task = Task::of(args)?;
    if let Some(why) = refusal_beforehand(&engine, args)? {
        let operation = task.operation(&engine);
        report::recorded(engine.audit().record_refused(RecordOrigin::RUN, &operation, &why.reason));
        report::say(&format!("openoxide: {}; {NOTHING_RUN}", why.shown));
        return Ok(Exit::Refused);
    }
    let environment = confined::environment(engine.sandbox_settings(), &args.env)?;
    let mut operation = task.operation(&engine);
    operation.session = args.session.unwrap_or(operation.session);
    let (session, refusals) = (operation.session, RefCell::default());
    let context = RunContext { engine: &engine, args, global, session, refused: refusals };
    let options = CheckOptions::new(RecordOrigin::RUN, enforced(args));
    let Ok(Approval { verdict, review }) = context.approve(&operation, options, None) else {
        report::recorded(engine.audit().record_interrupted(RecordOrigin::RUN, &operation));
        return Ok(interrupted(NOTHING_RUN));
    };
    if let Some(exit) = review.as_ref().and_then(|review| unanswered(review, args, NOTHING_RUN)) {
        return Ok(exit);
    }
    match verdict {
        Verdict::Allowed(permit) => task.run(permit, environment, &context),
        Verdict::Denied(refusal) => Ok(refused(&refusal, NOTHING_RUN)),
        Verdict::Unanswerable(request) => Ok(unanswerable(&request, args, NOTHING_RUN)),
    }
}

/// Opens the engine; first, a person is asked about projects that are not trusted.
fn open(args: &RunArgs, global: Global) -> Result<Engine, CliError> {
    let mut engine = policy_args::open_for_execution(&args.policy, args.session)?;
    if trust::offer_all(engine.untrusted_projects(), &Environment::read(), global) {
        engine = policy_args::open_for_execution(&args.policy, args.session)?;
    }
    let closed = engine.managed_policy_error().is_some();
    if policy_args::sound(&engine, global).is_err() && !closed {
        report::note(&"the policy has errors; every action needs approval until they are fixed");
    }
    Ok(engine)
}

/// Why nothing is run, whatever is to be run.
struct RefusalBeforehand {
    /// As it is recorded.
    reason: String,
    /// As a person reads it.
    shown: String,
}

/// Returns why nothing is run, if that is known without looking at the command.
///
/// # Errors
/// When the arguments contradict each other, or the directory does not exist.
fn refusal_beforehand(
    engine: &Engine,
    args: &RunArgs,
) -> Result<Option<RefusalBeforehand>, CliError> {
    let is_usual = args.sandbox == RunSandbox::Auto;
    if args.live && !is_usual {
        let why = "`--live` requires `--sandbox auto`";
        return Err(why.into());
    }
    if let Some(error) = engine.managed_policy_error() {
        let (reason, shown) = (error.to_owned(), error.to_owned());
        return Ok(Some(RefusalBeforehand { reason, shown }));
    }
    if !std::path::Path::new(engine.cwd().as_str()).is_dir() {
        return Err(format!("`{}` is not a directory", engine.cwd()).into());
    }
    if args.stage && !is_usual {
        let why = "`--stage` requires `--sandbox auto`";
        return Err(why.into());
    }
    let required = engine.confinement_required().filter(|_| args.sandbox == RunSandbox::Off);
    Ok(required.map(|why| {
        let reason = format!("`--sandbox off` is refused: {why}");
        let shown = visible(&reason, Lines::One);
        RefusalBeforehand { reason, shown }
    }))
}

/// What a no means.
const NOTHING_RUN: &str = "nothing was run";

/// What is to be run.
enum Task {
    Script(String),
    Program(Vec<String>),
}

impl Task {
    fn of(args: &RunArgs) -> Result<Self, CliError> {
        match (&args.script, args.command.is_empty()) {
            (Some(script), _) => Ok(Self::Script(script.clone())),
            (None, false) => Ok(Self::Program(args.command.clone())),
            (None, true) => Err("no command given; use `openoxide run -c 'SCRIPT'` or \
                                 `openoxide run -- PROG ARG…`"
                .into()),
        }
    }

    /// A program with its arguments is judged as the line that a shell would read as just these words.
    fn operation(&self, engine: &Engine) -> Operation {
        let script = match self {
            Self::Script(script) => script.clone(),
            Self::Program(words) => quote(words),
        };
        let input = json!({ "command": script });
        call::of("Bash".to_owned(), Action::Command { script }, input, engine.cwd())
    }

    /// Runs what was permitted, and tells how it ended.
    fn run(
        &self,
        permit: ExecutionPermit,
        environment: Vec<(OsString, OsString)>,
        context: &RunContext<'_>,
    ) -> Result<Exit, CliError> {
        let options = RunOptions {
            argv: self.argv(),
            sandbox: restriction(context.args.sandbox),
            environment,
            stage: context.args.stage,
            live: context.args.live,
            supervisor: &confined::SUPERVISE,
        };
        let planned = permit.plan(context.engine, options, context)?;
        announce(&planned, context.engine);
        Ok(match planned.run(context) {
            Ok(RunReport { status, stage }) => {
                let ended = self.ended(status);
                stage.and_then(|stage| staged::settle(&stage, context)).unwrap_or(ended)
            }
            Err(RunError::Sandbox(error)) => not_confined(&error, context.engine),
            Err(error @ RunError::WrongOperation) => {
                report::failure(&error);
                Exit::RunFailed
            }
        })
    }

    fn ended(&self, status: io::Result<ExitStatus>) -> Exit {
        let words = self.argv();
        let program = words.first().map_or("", String::as_str);
        match status {
            Ok(status) => passed_on(status),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                report::failure(&format!("`{program}` was not found"));
                Exit::NotFound
            }
            Err(error) => {
                report::failure(&format!("`{program}` did not start: {error}"));
                Exit::RunFailed
            }
        }
    }

    /// The words that are started, by bash or as they are. Nothing in the environment makes bash run something else first.
    fn argv(&self) -> Vec<String> {
        match self {
            Self::Script(script) => {
                ["bash", "--norc", "--noprofile", "-c", script].map(str::to_owned).into()
            }
            Self::Program(words) => words.clone(),
        }
    }
}

/// Returns how the sandbox is restricted; nothing where the person wants none.
const fn restriction(sandbox: RunSandbox) -> Option<SandboxRestriction> {
    match sandbox {
        RunSandbox::Off => None,
        RunSandbox::Auto => Some(SandboxRestriction::AsDecided),
        RunSandbox::ReadOnly => Some(SandboxRestriction::ReadOnly),
    }
}

/// Says why a command may run, how it is held, and what a person should know about that.
fn announce(planned: &PlannedRun<'_>, engine: &Engine) {
    let decision = planned.decision();
    let why = match decision.effect {
        Effect::Allow => visible(&decision.reason, Lines::One),
        Effect::Ask | Effect::Deny => "approved".to_owned(),
    };
    let how = match planned.profile() {
        Some(_) => "running in the sandbox",
        None => "running without a sandbox, with your full permissions",
    };
    report::say(&format!("openoxide: {why}; {how}"));
    let Some(held) = planned.profile() else { return };
    confined::lost(decision, engine.roots()).iter().for_each(report::note);
    if held.network == Network::On {
        report::note(&HOST_NETWORK);
    }
}

/// Says that the sandbox could not be set up, and what to do about it.
fn not_confined(error: &SandboxError, engine: &Engine) -> Exit {
    report::failure(&format!("nothing was run: {error}"));
    let off = match engine.confinement_required() {
        Some(why) => format!("running without a sandbox is not permitted: {why}"),
        None => "`--sandbox off` runs it without a sandbox, with your full permissions".to_owned(),
    };
    report::note(&format!("`openoxide sandbox status` shows what this machine can enforce; {off}"));
    Exit::RunFailed
}

/// What the record of a decision says of how it will be held.
pub(crate) const fn enforced(args: &RunArgs) -> Enforced {
    match args.sandbox {
        RunSandbox::Off => Enforced::NotConfined,
        RunSandbox::Auto | RunSandbox::ReadOnly => Enforced::Confined,
    }
}

/// A program that a signal ended has, for shells, the status 128 and its number.
fn passed_on(status: ExitStatus) -> Exit {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    Exit::Program(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(Exit::RunFailed.code()))
}

pub(crate) fn options(global: Global) -> AskOptions {
    let colored = color::wanted(global.color, &std::io::stderr());
    AskOptions {
        style: if colored { Style::Ansi } else { Style::Plain },
        input: Input::for_term(std::env::var("TERM").ok().as_deref()),
        withdrawn: None,
        recall: None,
    }
}
